"""Listings, as they are written and read. Prices in minor units, quantities in whole points."""

from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor


class Terms(msgspec.Struct, frozen=True):
    """Offer of an organization: points at one fixed price, each a right to `revenue_bps` / `total` of its revenue for `term_months`."""

    total: int
    price: Minor
    min_raise: Minor
    opens_at: datetime
    closes_at: datetime
    per_owner_max: int
    revenue_bps: int
    term_months: int
    tick: Minor
    prospectus_url: str
    prospectus_sha256: bytes


class Listing(Terms, frozen=True):
    """A listing as it was at `now`, the database's clock. `fee_bps`, `digest` and `approved_at` come with the approval."""

    ref: str
    organization_id: UUID
    treasury_did: str
    status: str
    fee_bps: int | None
    digest: bytes | None
    approved_at: datetime | None
    sold: int
    launched_at: datetime | None
    ends_at: datetime | None
    last_price: Minor | None
    arrears: Minor
    reason: str | None
    created_at: datetime
    now: datetime


class ShownListing(msgspec.Struct, frozen=True):
    """A listing with its organization, the points of agents that are related to it, and who trades it."""

    listing: Listing
    slug: str
    name: str
    insider_points: int
    activity: "Activity"


class Activity(msgspec.Struct, frozen=True):
    """Agents that traded at a listing within 30 days, and the share of the two that traded most with each other, in basis points."""

    traders: int
    top_pair_bps: int | None


QUIET = Activity(0, None)


class Decision(msgspec.Struct, frozen=True):
    """Decision of an administrator, `developer:<id>`, with its reason."""

    by: str
    reason: str
