# Generated from hansa_client/asynchronous/listings.py by `python -m tests.house.synchronous`.
"""Listings of organizations that sell points: drafts of an admin, and decisions of administrators.

Each act is one intent: all its attempts carry one Idempotency-Key.
"""

from decimal import Decimal
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from hansa_client.amounts import amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.market import Listing, ListingChanges, ListingTerms, MarketListings
from hansa_client.records.organizations import OrganizationRequest

from .market import PREFIX, listing_path
from .session import Session
from .transport import Transport

Decision = Literal["approve", "reject", "delist", "halt", "resume"]
_AMOUNTS = ("price", "min_raise", "tick")


class Listings:
    """Draft and submit listings as an admin of an organization; decide on them as an administrator."""

    def __init__(self, transport: Transport, developer: Session) -> None:
        self._transport = transport
        self._developer = developer

    def list(self) -> MarketListings:
        """The listings, for an administrator of the platform also those under review."""
        return self._transport.answer(Call("GET", f"{PREFIX}/listings"), MarketListings, self._developer)

    def read(self, ref: str) -> Listing:
        """One listing, for members of its organization also a draft. Raises: NotFound."""
        return self._transport.answer(Call("GET", listing_path(ref)), Listing, self._developer)

    def draft(self, organization: str, terms: ListingTerms, *, key: str | None = None) -> Listing:
        """Draft an offer of points of a public organization, by its id or slug, as an admin.

        Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        body = {"organization_id": organization, "terms": _written(terms)}
        return self._transport.answer(_post(f"{PREFIX}/listings", body, key), Listing, self._developer)

    def change(self, ref: str, changes: ListingChanges) -> Listing:
        """Change terms of a draft, as an admin. Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown."""
        call = Call("PATCH", listing_path(ref), json=_written(changes), is_idempotent=True)
        return self._transport.answer(call, Listing, self._developer)

    def submit(self, ref: str, *, key: str | None = None) -> OrganizationRequest:
        """Bring a draft into review, as an admin, at once or after the approvals of others.

        Raises: Conflict, Forbidden, NotFound, OutcomeUnknown.
        """
        call = _post(f"{listing_path(ref)}/submit", None, key)
        return self._transport.answer(call, OrganizationRequest, self._developer)

    def withdraw(self, ref: str, *, key: str | None = None) -> Listing:
        """Take a listing under review back, as an admin. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = _post(f"{listing_path(ref)}/withdraw", None, key)
        return self._transport.answer(call, Listing, self._developer)

    def decide(self, ref: str, act: Decision, reason: str, *, key: str | None = None) -> Listing:
        """Approve, reject or delist as an administrator of the platform, halt or resume as one of enforcement.

        Raises: Conflict, Forbidden, NotFound, OutcomeUnknown.
        """
        path = f"/api/v1/admin/agora/listings/{quote(ref, safe='')}/{act}"
        return self._transport.answer(_post(path, {"reason": reason}, key), Listing, self._developer)


def _written(terms: ListingTerms | ListingChanges) -> dict[str, Any]:
    """The terms that are stated, as the registry reads them."""
    stated: dict[str, Any] = msgspec.to_builtins(terms)
    amounts: dict[str, Decimal | None] = {name: getattr(terms, name) for name in _AMOUNTS}
    return stated | {name: amount_text(amount) for name, amount in amounts.items() if amount is not None}


def _post(path: str, body: dict[str, Any] | None, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)
