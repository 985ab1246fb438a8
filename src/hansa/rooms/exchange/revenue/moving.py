"""Points move without a payment: to another agent of the same owner, or back to the listing, which gives them up.

Locks: the agents by DID (shared), the listing, their holdings by DID.
"""

from hansa.foundation.events import BookChanged, PointsMoved
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.rooms import agents, journal
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.errors import ListingUnknown
from hansa.rooms.exchange.reading import HIDDEN
from hansa.rooms.exchange.records import Listing
from hansa.rooms.exchange.rules import require_enabled, wrong_state
from hansa.rooms.exchange.trading import store as trading

from . import store
from .errors import PointsOffered, PointsOfOthers, PointsToSelf
from .records import MovedPoints, PointTransfer

WITH_POINTS = ("TRADING", "HALTED", "DELISTED")


async def move_points(tx: Tx, agent: Agent, new: PointTransfer, settings: Settings) -> MovedPoints:
    """Transfer points of an agent to another one of its owner, or give them up: the revenue that they shared stays with the organization.

    Raises: ExchangeDisabled, PointsToSelf, PointsOfOthers, AgentSuspended, AgentRevoked, ListingUnknown, ListingState, PointsOffered.
    """
    if new.to is not None:
        # Points are given up while the exchange is off too, so that they do not keep an agent from its end.
        require_enabled(settings)
    dids = [agent.did] if new.to is None else sorted({agent.did, new.to})
    if new.to == agent.did:
        raise PointsToSelf(field="to")
    await _require_one_owner(tx, dids)
    listing = await _locked(tx, new.ref)
    holdings = await trading.lock_holdings(tx, new.ref, dids)
    given = holdings[agent.did]
    if given.free < new.qty:
        raise PointsOffered(context={"available": given.free, "required": new.qty})
    cost = given.cost
    given.give(new.qty)
    if new.to is not None:
        holdings[new.to].qty += new.qty
        holdings[new.to].cost += cost - given.cost
    await trading.write_holdings(tx, new.ref, holdings)
    return await _posted(tx, listing, agent, new)


async def _require_one_owner(tx: Tx, dids: list[str]) -> None:
    """Keep agents active and with their owner, who is one. Raises: PointsOfOthers, AgentSuspended, AgentRevoked."""
    owners = await agents.ownerships_of(tx, dids)
    if len(owners) != len(dids) or len(set(owners.values())) != 1:
        raise PointsOfOthers(field="to")
    for did in dids:
        await agents.share_active(tx, did)
    # An agent may have got another owner before its row was locked.
    if len(set((await agents.ownerships_of(tx, dids)).values())) != 1:
        raise PointsOfOthers(field="to")


async def _locked(tx: Tx, ref: str) -> Listing:
    """Raises: ListingUnknown, ListingState."""
    listing = await listings.lock(tx, ref)
    if listing is None or listing.status in HIDDEN:
        raise ListingUnknown
    if listing.status not in WITH_POINTS or listing.ends_at is None or listing.ends_at <= listing.now:
        raise wrong_state(listing)
    return listing


async def _posted(tx: Tx, listing: Listing, agent: Agent, new: PointTransfer) -> MovedPoints:
    before = await trading.drawn(tx, new.ref)
    seq, cause = before + 1, "surrender" if new.to is None else "transfer"
    await trading.move_on(tx, new.ref, before, seq, None)
    await store.post(tx, new.ref, seq, {agent.did: -new.qty, new.to or "": new.qty}, cause)
    if new.to is None:
        await store.give_up(tx, new.ref, new.qty)
    event = PointsMoved(
        new.ref, listing.treasury_did, seq=seq, cause=cause, from_=agent.did, to=new.to, qty=new.qty
    )
    # The movement draws a number, so that the next change of the book begins behind it.
    await journal.append(tx, event, BookChanged(new.ref, listing.treasury_did, before, seq, []))
    return MovedPoints(new.ref, seq, new.to, new.qty)
