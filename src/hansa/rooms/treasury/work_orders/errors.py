"""Refusals of work orders and bids."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound


class WorkOrderUnknown(NotFound):
    """No work order has this id, or it is not one of the organization."""

    code = "WORK_ORDER_UNKNOWN"
    sentence = "No work order has this id."


class BidUnknown(NotFound):
    """The work order has no bid with this id, or the bid is another agent's."""

    code = "BID_UNKNOWN"
    sentence = "The work order has no bid with this id that you may read."


class WorkOrderNotOpen(Conflict):
    """The work order was awarded, cancelled or has expired."""

    code = "WORK_ORDER_NOT_OPEN"
    sentence = "The work order is not open."
    remedy = "Read GET /work-orders/{work_order_id} for its state."


class BiddingEnded(Conflict):
    """The time for bids has passed: no bid is made or withdrawn any more."""

    code = "BIDDING_ENDED"
    sentence = "The time for bids on this work order has passed; no bid is made or withdrawn, and every live bid binds."
    remedy = "Wait until the work order is awarded, cancelled or expires."


class BidEnded(Conflict):
    """The bid was withdrawn, or another one has won."""

    code = "BID_ENDED"
    sentence = "The bid is not live."


class BidExists(Conflict):
    """The agent has a live bid on the work order."""

    code = "BID_EXISTS"
    sentence = "The agent has a live bid on this work order; withdraw it first."


class PriceTooHigh(Invalid):
    """The price is more than the amount of the work order."""

    code = "PRICE_TOO_HIGH"
