"""Decisions about listings, without I/O.

- The fee of a sale is `fee_bps` of its amount, half to even; the seller pays it, inside the amount.
- The terms are final once a listing is approved. Their digest is over the canonical JSON of `terms_document`.
"""

from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.canonical import digest
from hansa.foundation.values.errors import Invalid
from hansa.foundation.values.money import AMOUNT_MAX_UNITS, UNIT, Minor, format_amount, share

from .errors import ExchangeDisabled, ListingState, OpeningPassed
from .records import Listing, Terms

LIVE_MAX = 100
"""Listings of a registry that are approved and have not ended."""
AHEAD_MAX = timedelta(days=365)
"""How far ahead a launch may open."""
LAUNCH_MAX = timedelta(days=90)
BPS = 10_000


def require_enabled(settings: Settings) -> None:
    """Raises: ExchangeDisabled."""
    if not settings.exchange_enabled:
        raise ExchangeDisabled


def require_status(listing: Listing, *allowed: str) -> None:
    """Raises: ListingState."""
    if listing.status not in allowed:
        raise wrong_state(listing)


def wrong_state(listing: Listing) -> ListingState:
    """The refusal of an act for the state of a listing."""
    return ListingState(f"The listing is {listing.status}.", context={"state": listing.status})


def require_sound(terms: Terms, now: datetime) -> None:
    """Raises: Invalid, naming the member."""
    if terms.total * terms.price > AMOUNT_MAX_UNITS * UNIT:
        raise Invalid(f"total times price must be at most {AMOUNT_MAX_UNITS}.", field="total")
    if terms.price % terms.tick:
        raise Invalid("price must be a multiple of tick.", field="tick")
    if terms.min_raise > terms.total * terms.price:
        raise Invalid("min_raise must be at most total times price.", field="min_raise")
    if terms.per_owner_max > terms.total:
        raise Invalid("per_owner_max must be at most total.", field="per_owner_max")
    if not now < terms.opens_at <= now + AHEAD_MAX:
        raise Invalid(f"opens_at must be within {AHEAD_MAX.days} days from now.", field="opens_at")
    if not terms.opens_at < terms.closes_at <= terms.opens_at + LAUNCH_MAX:
        raise Invalid(f"closes_at must be within {LAUNCH_MAX.days} days from opens_at.", field="closes_at")


def require_ahead(listing: Listing) -> None:
    """Require that the launch has yet to open. Raises: OpeningPassed."""
    if listing.opens_at <= listing.now:
        raise OpeningPassed(
            context={"state": listing.status, "opens_at": listing.opens_at.isoformat()}, field="opens_at"
        )


def terms_document(listing: Listing) -> dict[str, Any]:
    """The terms as they are hashed: the offer, its seller, and the reference. Times are ISO 8601 in UTC."""
    return {
        "ref": listing.ref,
        "organization_id": str(listing.organization_id),
        "treasury_did": listing.treasury_did,
        "total": listing.total,
        "price": format_amount(listing.price),
        "min_raise": format_amount(listing.min_raise),
        "opens_at": listing.opens_at.isoformat(),
        "closes_at": listing.closes_at.isoformat(),
        "per_owner_max": listing.per_owner_max,
        "revenue_bps": listing.revenue_bps,
        "term_months": listing.term_months,
        "tick": format_amount(listing.tick),
        "prospectus": {"url": listing.prospectus_url, "sha256": listing.prospectus_sha256.hex()},
    }


def terms_digest(listing: Listing) -> bytes:
    """SHA-256 of the terms."""
    return digest(terms_document(listing))


def fee_of(amount: Minor, fee_bps: int) -> Minor:
    """The fee of a sale of points."""
    return share(amount, Fraction(fee_bps, BPS))
