"""Shapes of listings. Amounts are decimal strings, quantities whole points."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from fastapi import Path
from pydantic import AfterValidator, AwareDatetime, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import (
    Amount,
    PositiveAmount,
    format_amount,
    parse_amount,
    parse_positive,
)
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.foundation.values.visible_text import plain_and_visible

from .records import ShownListing, Terms
from .rules import BPS

REF_PATTERN = r"^[A-Z0-9]{2,8}$"
POINTS_MAX = 10**10
REVENUE_BPS_MAX = 5000
TERM_MONTHS_MIN, TERM_MONTHS_MAX = 6, 120
URL_MAX = 2048
REASON_MAX = 2000

RefInPath = Annotated[str, Path(pattern=REF_PATTERN, description="Reference of the listing.")]
ListingStatus: TypeAlias = Literal[
    "DRAFT", "REVIEW", "APPROVED", "LAUNCHING", "TRADING", "HALTED", "EXPIRED", "DELISTED", "FAILED"
]


Total = Annotated[int, Field(strict=True, ge=1, le=POINTS_MAX, description="Points that are offered.")]
Price = Annotated[PositiveAmount, Field(description="Price of a point in the launch, a multiple of `tick`.")]
MinRaise = Annotated[Amount, Field(description="The launch fails if it raises less.")]
OpensAt = Annotated[AwareDatetime, ISO_ONLY, Field(description="At most 365 days ahead.")]
ClosesAt = Annotated[AwareDatetime, ISO_ONLY, Field(description="At most 90 days after `opens_at`.")]
PerOwnerMax = Annotated[
    int,
    Field(
        strict=True,
        ge=1,
        le=POINTS_MAX,
        description="Points that all agents of one owner may subscribe in the launch.",
    ),
]
RevenueBps = Annotated[
    int,
    Field(
        strict=True,
        ge=1,
        le=REVENUE_BPS_MAX,
        description="Share of the revenue that all points have together, in basis points.",
    ),
]
TermMonths = Annotated[
    int,
    Field(
        strict=True,
        ge=TERM_MONTHS_MIN,
        le=TERM_MONTHS_MAX,
        description="Months from the close of the launch; then the points are void.",
    ),
]
Tick = Annotated[PositiveAmount, Field(description="Prices of orders are multiples of it.")]


class ProspectusIn(RequestBody):
    """Document that describes the offer, and its SHA-256."""

    url: Annotated[str, Field(max_length=URL_MAX, pattern=r"^https://[!#-;=?-\[\]_a-z~]+$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ListingTermsIn(RequestBody):
    """Terms of an offer of points."""

    ref: Annotated[
        str, Field(pattern=REF_PATTERN, description="Reference of the listing, used once for ever.")
    ]
    total: Total
    price: Price
    min_raise: MinRaise
    opens_at: OpensAt
    closes_at: ClosesAt
    per_owner_max: PerOwnerMax
    revenue_bps: RevenueBps
    term_months: TermMonths
    tick: Tick
    prospectus: ProspectusIn

    def terms(self) -> Terms:
        """The terms as they are written."""
        return Terms(**_parsed(self.model_dump(exclude={"ref"})))


class ExchangeListingIn(RequestBody):
    """An offer of points of an organization."""

    organization_id: Annotated[str, Field(max_length=64, description="Id or slug of the organization.")]
    terms: ListingTermsIn


class ListingChangesIn(RequestBody):
    """Terms that are to change; those that are absent stay as they are."""

    total: Total | None = None
    price: Price | None = None
    min_raise: MinRaise | None = None
    opens_at: OpensAt | None = None
    closes_at: ClosesAt | None = None
    per_owner_max: PerOwnerMax | None = None
    revenue_bps: RevenueBps | None = None
    term_months: TermMonths | None = None
    tick: Tick | None = None
    prospectus: ProspectusIn | None = None

    def changes(self) -> dict[str, Any]:
        """The terms that this request changes, by their names."""
        return _parsed(self.model_dump(exclude_none=True))


class ListingReasonIn(RequestBody):
    """Reason of an administrator. It is public."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX), AfterValidator(plain_and_visible)]


class ListingOrganizationOut(LazyModel):
    """The organization that sells points."""

    id: UUID
    slug: str
    name: str


class ProspectusOut(LazyModel):
    """Document that describes the offer, and its SHA-256."""

    url: str
    sha256: str


class ListingOut(LazyModel):
    """Points of an organization: rights to a share of its revenue for a term. A point is no vote and no claim on the treasury, and ends worthless."""

    ref: str
    organization: ListingOrganizationOut
    treasury_did: str
    status: ListingStatus
    total: int
    price: str
    min_raise: str
    opens_at: datetime
    closes_at: datetime
    per_owner_max: int
    revenue_bps: int = Field(description="A point is a right to `revenue_bps` / `total` of the revenue.")
    term_months: int
    tick: str
    fee_bps: int | None = Field(
        description="Fee that sellers pay, in basis points; null before the approval."
    )
    prospectus: ProspectusOut
    terms_sha256: str | None = Field(
        description="SHA-256 of the canonical JSON of the terms, from the approval on; a leaf of the log has it."
    )
    sold: int = Field(description="Points that exist. The number is sealed until the launch has closed.")
    last_price: str | None
    arrears: str
    insider_points: int = Field(description="Points of agents that are related to the organization.")
    traders_30d: int = Field(description="Agents that traded within 30 days.")
    top_pair_share: str | None = Field(
        description="Part of the points traded within 30 days that the two agents with the most of them traded with each other;"
        " null without trades.",
        examples=["0.2500"],
    )
    ends_at: datetime | None
    reason: str | None = Field(description="Reason of the last decision of an administrator.")

    @classmethod
    def of(cls, shown: ShownListing) -> "ListingOut":
        """The listing as it is answered."""
        listing = shown.listing
        return cls.model_validate(
            {
                "ref": listing.ref,
                "organization": {"id": listing.organization_id, "slug": shown.slug, "name": shown.name},
                "treasury_did": listing.treasury_did,
                "status": listing.status,
                "total": listing.total,
                "price": format_amount(listing.price),
                "min_raise": format_amount(listing.min_raise),
                "opens_at": listing.opens_at,
                "closes_at": listing.closes_at,
                "per_owner_max": listing.per_owner_max,
                "revenue_bps": listing.revenue_bps,
                "term_months": listing.term_months,
                "tick": format_amount(listing.tick),
                "fee_bps": listing.fee_bps,
                "prospectus": {"url": listing.prospectus_url, "sha256": listing.prospectus_sha256.hex()},
                "terms_sha256": None if listing.digest is None else listing.digest.hex(),
                "sold": listing.sold,
                "last_price": None if listing.last_price is None else format_amount(listing.last_price),
                "arrears": format_amount(listing.arrears),
                "insider_points": shown.insider_points,
                "traders_30d": shown.activity.traders,
                "top_pair_share": None
                if (bps := shown.activity.top_pair_bps) is None
                else f"{bps / BPS:.4f}",
                "ends_at": listing.ends_at,
                "reason": listing.reason,
            }
        )


class ListingsOut(LazyModel):
    """The listings of this registry; none while its exchange is off."""

    listings: list[ListingOut]


def _parsed(members: dict[str, Any]) -> dict[str, Any]:
    """Members of terms as they are written: amounts in minor units, the prospectus in two parts."""
    parsed = dict(members)
    for name, parse in (("price", parse_positive), ("tick", parse_positive), ("min_raise", parse_amount)):
        if name in parsed:
            parsed[name] = parse(parsed[name])
    if prospectus := parsed.pop("prospectus", None):
        parsed |= {
            "prospectus_url": prospectus["url"],
            "prospectus_sha256": bytes.fromhex(prospectus["sha256"]),
        }
    return parsed
