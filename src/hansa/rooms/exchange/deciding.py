"""Decisions of administrators on listings: approve or reject one under review, halt and resume trade, delist. Each is recorded with its reason."""

import msgspec

from hansa.foundation.events import ListingApproved, ListingDelisted, ListingHalted, ListingResumed
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_object
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import journal, organizations

from . import rules, store
from .cards import STOCK_CARD, STOCK_CARD_KEY
from .drafting import require_public
from .errors import ListingUnknown
from .launches import OPENING, end_launch
from .reading import shown
from .records import Decision, Listing, ShownListing
from .trading import ENDED


class _Act(msgspec.Struct, frozen=True):
    name: str
    administrator: Developer
    reason: str


LEAF = "listing_approved"
"""Kind of the leaf of the log: the event of an approval, by the reference of the listing."""


async def approve(
    tx: Tx, administrator: Developer, ref: str, reason: str, settings: Settings
) -> ShownListing:
    """Approve a listing under review: its terms and the fee in force are final from this commit on.

    Raises: ExchangeDisabled, ListingUnknown, ListingState, OrganizationNotActive, OrganizationNotPublic, OpeningPassed, LimitReached.
    """
    rules.require_enabled(settings)
    found = await store.find(tx, ref)
    if found is None:
        raise ListingUnknown
    organization = await organizations.lock(tx, found.organization_id)
    listing = await _locked(tx, ref)
    rules.require_status(listing, "REVIEW")
    organizations.require_active(organization)
    require_public(organization)
    rules.require_ahead(listing)
    organizations.require_room(await store.count_live(tx), rules.LIVE_MAX, "live listings")
    settings = await parameters.in_force(tx, settings)
    fee_bps = settings.exchange_fee_bps
    digest = rules.terms_digest(listing)
    approved = await store.approve(tx, ref, fee_bps, digest, _decision(administrator, reason))
    assert approved is not None, "a locked listing is in the state that was judged"
    await enqueue(tx, OPENING, ref, due_at=approved.opens_at)
    await _recorded(tx, administrator, "approve", ref, reason)
    event = ListingApproved(
        ref,
        approved.treasury_did,
        terms_sha256=digest.hex(),
        fee_bps=fee_bps,
        opens_at=approved.opens_at.isoformat(),
        closes_at=approved.closes_at.isoformat(),
    )
    await journal.append(tx, event)
    await record_object(tx, LEAF, ref, msgspec.to_builtins(event))
    await enqueue(tx, STOCK_CARD, STOCK_CARD_KEY)
    return await shown(tx, approved)


async def reject(tx: Tx, administrator: Developer, ref: str, reason: str) -> ShownListing:
    """Send a listing under review back, which is a draft again. Raises: ListingUnknown, ListingState."""
    return await shown(tx, await _moved(tx, ref, ("REVIEW",), "DRAFT", _Act("reject", administrator, reason)))


async def halt(tx: Tx, administrator: Developer, ref: str, reason: str) -> ShownListing:
    """Halt the trade of a listing: orders can only be cancelled. Raises: ListingUnknown, ListingState."""
    halted = await _moved(tx, ref, ("TRADING",), "HALTED", _Act("halt", administrator, reason))
    await journal.append(tx, ListingHalted(ref, halted.treasury_did, reason))
    await enqueue(tx, STOCK_CARD, STOCK_CARD_KEY)
    return await shown(tx, halted)


async def resume(tx: Tx, administrator: Developer, ref: str, reason: str) -> ShownListing:
    """Let the trade of a halted listing go on. Raises: ListingUnknown, ListingState."""
    resumed = await _moved(tx, ref, ("HALTED",), "TRADING", _Act("resume", administrator, reason))
    await journal.append(tx, ListingResumed(ref, resumed.treasury_did, reason))
    await enqueue(tx, STOCK_CARD, STOCK_CARD_KEY)
    return await shown(tx, resumed)


async def delist(tx: Tx, administrator: Developer, ref: str, reason: str) -> ShownListing:
    """End the trade of a listing for good, or its launch before it closes. Orders end, subscriptions are freed, holders keep their points.

    Raises: ListingUnknown, ListingState.
    """
    listing = await _locked(tx, ref)
    if listing.status == "LAUNCHING":
        await end_launch(tx, listing)
    states = ("APPROVED", "LAUNCHING", "TRADING", "HALTED")
    delisted = await _moved(tx, ref, states, "DELISTED", _Act("delist", administrator, reason))
    await journal.append(tx, ListingDelisted(ref, delisted.treasury_did, reason))
    await enqueue(tx, ENDED, ref)
    await enqueue(tx, STOCK_CARD, STOCK_CARD_KEY)
    return await shown(tx, delisted)


async def _moved(tx: Tx, ref: str, allowed: tuple[str, ...], status: str, act: _Act) -> Listing:
    listing = await _locked(tx, ref)
    decision = _decision(act.administrator, act.reason)
    moved = await store.move(tx, ref, allowed, status, decision)
    if moved is None:
        raise rules.wrong_state(listing)
    await _recorded(tx, act.administrator, act.name, ref, act.reason)
    return moved


async def _locked(tx: Tx, ref: str) -> Listing:
    listing = await store.lock(tx, ref)
    if listing is None:
        raise ListingUnknown
    return listing


async def _recorded(tx: Tx, administrator: Developer, act: str, ref: str, reason: str) -> None:
    await record_admin_act(tx, administrator, act=f"listing.{act}", subject=f"listing:{ref}", reason=reason)


def _decision(administrator: Developer, reason: str) -> Decision:
    return Decision(f"developer:{administrator.id}", reason)
