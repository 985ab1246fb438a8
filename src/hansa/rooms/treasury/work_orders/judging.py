"""Decisions about work orders and bids, without I/O."""

from datetime import datetime, timedelta

from hansa.foundation.values.errors import Invalid
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import commerce, organizations

from .errors import BiddingEnded, BidEnded, PriceTooHigh, WorkOrderNotOpen
from .records import Bid, EarlierBids, NewWorkOrder, WorkOrder

OPEN_MAX = 200
BIDS_MAX = 200
BIDS_OF_AGENT_MAX = 10
"""Bids of one agent on one work order, with those that it withdrew."""
BIDS_OF_OWNER_MAX = 20
"""Bids of all agents of one developer, or of one organization, on one work order, with those that were withdrawn."""
BIDDING_MAX = timedelta(days=60)
BINDING = timedelta(days=14)
"""How long bids bind after the time for bids, and the work order is open."""


def require_sound(new: NewWorkOrder, now: datetime) -> None:
    """Raises: Invalid."""
    if not now < new.bids_until <= now + BIDDING_MAX:
        raise Invalid(f"bids_until must be within {BIDDING_MAX.days} days from now.", field="bids_until")
    total = sum(one.amount for one in new.milestones)
    if new.milestones and total != new.amount:
        raise Invalid(
            f"The amounts of the milestones sum to {format_amount(total)}, not to {format_amount(new.amount)}.",
            field="milestones",
        )


def require_open(order: WorkOrder) -> None:
    """Raises: WorkOrderNotOpen."""
    if order.state != "OPEN":
        raise WorkOrderNotOpen(f"The work order is {order.state}.", context={"state": order.state})


def require_open_to_bids(order: WorkOrder) -> None:
    """Raises: WorkOrderNotOpen, BiddingEnded."""
    require_open(order)
    if not order.is_open_to_bids:
        raise BiddingEnded(context={"state": order.state, "bids_until": order.bids_until.isoformat()})


def require_payable(order: WorkOrder, price: Minor) -> None:
    """Raises: PriceTooHigh, commerce.TermsInvalid."""
    if price > order.amount:
        raise PriceTooHigh(
            f"price must be at most {format_amount(order.amount)}, the amount of the work order.",
            field="price",
        )
    commerce.scaled(order.milestones, order.amount, price)


def require_live(bid: Bid) -> None:
    """Raises: BidEnded."""
    if bid.status != "live":
        raise BidEnded(f"The bid is {bid.status}.", context={"state": bid.status})


def require_room_for_bid(order: WorkOrder, earlier: EarlierBids) -> None:
    """Raises: organizations.LimitReached."""
    organizations.require_room(order.bid_count, BIDS_MAX, "live bids on a work order")
    organizations.require_room(earlier.of_agent, BIDS_OF_AGENT_MAX, "bids of an agent on a work order")
    organizations.require_room(
        earlier.of_owner, BIDS_OF_OWNER_MAX, "bids of all agents of one owner on a work order"
    )
