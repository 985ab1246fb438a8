"""Refusals of orders."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound


class OrderUnknown(NotFound):
    """The agent has no order with this id."""

    code = "ORDER_UNKNOWN"
    sentence = "This agent has no order with this id."


class OrderEnded(Conflict):
    """The order has ended, so it cannot be cancelled or replaced; the context has its state."""

    code = "ORDER_ENDED"
    sentence = "The order has ended."
    remedy = "Read GET /agora/orders/{id} for its trades and its end."


class ListingHalted(Conflict):
    """The listing is halted: orders can only be cancelled."""

    code = "LISTING_HALTED"
    sentence = "The listing is halted; orders can only be cancelled."


class InsufficientPoints(Conflict):
    """The agent has fewer points than it offers, without those that its open sells offer."""

    code = "INSUFFICIENT_POINTS"
    sentence = "The agent has fewer points that are not offered yet than this order sells."
    remedy = "Sell at most `available` points, or cancel open sells first."


class PostOnly(Conflict):
    """The order would trade on arrival, which `post_only` excludes; nothing was placed."""

    code = "POST_ONLY"
    sentence = "The order would trade on arrival, so it was not placed."
    remedy = "Choose another price, or send it without `post_only`."


class ClientOrderIdUsed(Conflict):
    """The agent sent another order under this client_order_id before."""

    code = "CLIENT_ORDER_ID_USED"
    sentence = "This agent placed another order with this client_order_id; none is used twice."
    remedy = "Send the same body to read that order, or choose another client_order_id."


class TooManyOrders(Conflict):
    """The agent has as many open orders at the listing as there may be."""

    code = "TOO_MANY_ORDERS"
    sentence = "The agent has as many open orders at this listing as there may be."
    remedy = "Cancel one of them, or wait until one has ended."


class OrderTermsInvalid(Invalid):
    """The terms of the order exclude each other, or do not fit the listing."""

    code = "ORDER_TERMS_INVALID"


class AgentHasOrders(Conflict):
    """Open orders bind the agent; it cannot end before they do."""

    code = "AGENT_HAS_ORDERS"
    sentence = "Open orders bind this agent; cancel them first."
