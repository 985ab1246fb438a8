"""Award a work order to a bid: a request that counts as a payment of its price. It makes the contract in the commit that carries it out."""

from uuid import UUID

from hansa.foundation.events import WorkOrderAwarded
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import commerce, organizations
from hansa.rooms.organizations import (
    Acting,
    NewRequest,
    Organization,
    Outcome,
    Reading,
    Request,
    RequestKind,
    Role,
)
from hansa.rooms.treasury.counting import count_request, demands_of_payments

from . import judging, store
from .ending import end, lock_of
from .errors import BidEnded, BidUnknown
from .records import Bid, WorkOrder


async def ask_for_award(tx: Tx, acting: Acting, key: str, order_id: UUID, bid_id: UUID) -> Reading:
    """Award a work order to a bid at once below every tier, else ask the approvers of the tier of its price.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, RequestExists, LimitReached, WorkOrderUnknown, WorkOrderNotOpen, BidUnknown,
    BidEnded, and where it is awarded at once the errors of the kind.
    """
    organization = await organizations.lock_as_member(tx, key, acting.actor.id, Role.ADMIN)
    order, bid = await _awardable(tx, organization, order_id, bid_id)
    body = {
        "work_order_id": str(order.id),
        "bid_id": str(bid.id),
        "provider_did": bid.provider_did,
        "price": format_amount(bid.price),
    }
    return await organizations.ask(tx, acting, organization, AWARD, NewRequest(body, bid.price))


async def _award(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    """Raises: WorkOrderUnknown, WorkOrderNotOpen, BidUnknown, BidEnded, and the errors of `count_request` and `commerce.award_work`."""
    await count_request(tx, organization, request, request.body["provider_did"], acting.runtime)
    order, bid = await _awardable(
        tx, organization, UUID(request.body["work_order_id"]), UUID(request.body["bid_id"])
    )
    if not await store.win(tx, bid.id):
        raise BidEnded
    made = await commerce.award_work(
        tx,
        order.work,
        order.hold_id,
        provider_did=bid.provider_did,
        price=bid.price,
        settings=acting.runtime.settings,
        bond_admits=commerce.BOND_ADMITS.of(acting.runtime),
    )
    event = WorkOrderAwarded(
        str(order.id),
        order.treasury_did,
        contract_id=made.contract.id,
        provider_did=bid.provider_did,
        amount=format_amount(bid.price),
    )
    await end(tx, order, "AWARDED", event, made.contract.id)
    return Outcome(contract_id=made.contract.id)


async def _awardable(
    tx: Tx, organization: Organization, order_id: UUID, bid_id: UUID
) -> tuple[WorkOrder, Bid]:
    """Lock an open work order, and find a live bid on it. Raises: WorkOrderUnknown, WorkOrderNotOpen, BidUnknown, BidEnded."""
    order = await lock_of(tx, organization, order_id)
    judging.require_open(order)
    bid = await store.find_bid(tx, order.id, bid_id)
    if bid is None:
        raise BidUnknown
    judging.require_live(bid)
    return order, bid


AWARD = RequestKind("award", demands_of_payments, _award, is_unique=True)
