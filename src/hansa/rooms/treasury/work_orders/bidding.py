"""Agents bid for work, and withdraw bids while the time for bids lasts. After it every live bid binds until the work order ends."""

from uuid import UUID, uuid4

from hansa.foundation.events import WorkOrderBid
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, commerce, journal, organizations

from . import judging, store
from .errors import BidEnded, BidExists, BidUnknown, WorkOrderUnknown
from .records import Bid, NewBid, WorkOrder


async def bid(
    tx: Tx, agent: Agent, order_id: UUID, new: NewBid, *, settings: Settings, bond_admits: commerce.BondAdmits
) -> Bid:
    """Bid for a work order.

    Raises: WorkOrderUnknown, WorkOrderNotOpen, BiddingEnded, OrganizationNotActive, PriceTooHigh, TermsInvalid, LimitReached, BidExists, and as
    `commerce.require_bidder`.
    """
    order = await _locked(tx, order_id)
    judging.require_open_to_bids(order)
    status = (await agents.statuses_of(tx, [order.treasury_did])).get(order.treasury_did)
    if status != "active":
        raise organizations.OrganizationNotActive(context={"state": status})
    judging.require_payable(order, new.price)
    judging.require_room_for_bid(order, await store.count_bids_of(tx, order.id, agent))
    await commerce.require_bidder(tx, order.treasury_did, agent.did, settings, bond_admits)
    made = await store.insert_bid(tx, order, uuid4(), agent, new)
    if made is None:
        raise BidExists
    await journal.append(tx, _event(order, made))
    return made


async def withdraw(tx: Tx, agent: Agent, order_id: UUID, bid_id: UUID) -> None:
    """Withdraw an own bid while the time for bids lasts.

    Raises: WorkOrderUnknown, BidUnknown, WorkOrderNotOpen, BiddingEnded, BidEnded.
    """
    order = await _locked(tx, order_id)
    found = await store.find_bid(tx, order_id, bid_id)
    if found is None or found.provider_did != agent.did:
        raise BidUnknown
    judging.require_open_to_bids(order)
    judging.require_live(found)
    if not await store.withdraw(tx, found):
        raise BidEnded
    await journal.append(tx, _event(order, found, "withdrawn"))


async def bids_read_by(
    tx: Tx, caller: Agent | Developer, order_id: UUID, *, limit: int, offset: int
) -> tuple[list[Bid], int]:
    """A page of the bids on a work order: an agent reads its own, a member of the organization all. Raises: WorkOrderUnknown, OrganizationUnknown."""
    order = await store.find(tx, order_id)
    if order is None:
        raise WorkOrderUnknown
    if isinstance(caller, Agent):
        return await store.bids_of(tx, order.id, caller.did, limit=limit, offset=offset)
    await organizations.held(tx, str(order.organization_id), caller.id, organizations.Role.VIEWER)
    return await store.bids_of(tx, order.id, None, limit=limit, offset=offset)


async def _locked(tx: Tx, order_id: UUID) -> WorkOrder:
    order = await store.lock(tx, order_id)
    if order is None:
        raise WorkOrderUnknown
    return order


def _event(order: WorkOrder, found: Bid, status: str = "live") -> WorkOrderBid:
    return WorkOrderBid(
        str(order.id),
        order.treasury_did,
        bid_id=str(found.id),
        provider_did=found.provider_did,
        amount=format_amount(found.price),
        status=status,
    )
