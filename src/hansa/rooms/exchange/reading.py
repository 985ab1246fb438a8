"""Listings as everybody reads them. Drafts and listings under review are read by members of the organization and by administrators."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import organizations

from . import store
from .errors import ListingUnknown
from .records import QUIET, Listing, ShownListing

LISTED_MAX = 1000
"""Public listings that are returned; those that have ended are among them."""
OF_ORGANIZATION_SHOWN = 20
HIDDEN = ("DRAFT", "REVIEW")
AREA = "admin_platform"


async def read_listings(tx: Tx, reader: Developer | None, settings: Settings) -> list[ShownListing]:
    """The public listings; none while the exchange is off. An administrator reads those under review as well."""
    if not settings.exchange_enabled:
        return []
    found = await store.listed(tx, LISTED_MAX)
    if _reviews(reader):
        found += await store.reviewed(tx, LISTED_MAX)
    return await all_shown(tx, found)


async def read_listing(tx: Tx, reader: Developer | None, ref: str) -> ShownListing:
    """One listing. Raises: ListingUnknown."""
    listing = await store.find(tx, ref)
    if listing is None:
        raise ListingUnknown
    if listing.status in HIDDEN and not _reviews(reader):
        await _require_member(tx, reader, listing)
    return await shown(tx, listing)


async def read_page(tx: Tx, limit: int, offset: int) -> tuple[list[ShownListing], bool]:
    """Public listings, those that live first, and whether more follow."""
    found = await store.page(tx, limit + 1, offset)
    return await all_shown(tx, found[:limit]), len(found) > limit


async def read_in_states(tx: Tx, *states: str) -> list[ShownListing]:
    """The listings in these states, as administrators read them."""
    return await all_shown(tx, await store.in_states(tx, states, LISTED_MAX))


async def read_any(tx: Tx, ref: str) -> ShownListing:
    """One listing in any state, as administrators read it. Raises: ListingUnknown."""
    listing = await store.find(tx, ref)
    if listing is None:
        raise ListingUnknown
    return await shown(tx, listing)


async def read_of_organization(tx: Tx, organization_id: UUID) -> list[ShownListing]:
    """The newest listings of an organization, as its members read them."""
    return await all_shown(tx, await store.of_organization(tx, organization_id, OF_ORGANIZATION_SHOWN))


async def shown(tx: Tx, listing: Listing) -> ShownListing:
    """The listing with its organization."""
    (found,) = await all_shown(tx, [listing])
    return found


async def all_shown(tx: Tx, listings: Sequence[Listing]) -> list[ShownListing]:
    """The listings with their organizations."""
    refs = [one.ref for one in listings]
    names, insiders, active = await read_together(
        tx,
        lambda tx: organizations.names_of(tx, {one.organization_id for one in listings}),
        lambda tx: store.insider_points(tx, refs),
        lambda tx: store.activity_of(tx, refs),
    )
    return [
        ShownListing(one, *names[one.organization_id], insiders.get(one.ref, 0), active.get(one.ref, QUIET))
        for one in listings
    ]


def _reviews(reader: Developer | None) -> bool:
    return reader is not None and AREA in reader.areas_in_reach


async def _require_member(tx: Tx, reader: Developer | None, listing: Listing) -> None:
    if reader is None:
        raise ListingUnknown
    try:
        await organizations.held(tx, str(listing.organization_id), reader.id, organizations.Role.VIEWER)
    except organizations.OrganizationUnknown:
        raise ListingUnknown from None
