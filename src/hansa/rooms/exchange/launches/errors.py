"""Refusals of subscriptions."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class SubscriptionUnknown(NotFound):
    """The agent has not subscribed to this launch."""

    code = "SUBSCRIPTION_UNKNOWN"
    sentence = "This agent has not subscribed to the launch of this listing."


class SubscriptionExists(Conflict):
    """The agent has a subscription to this launch."""

    code = "SUBSCRIPTION_EXISTS"
    sentence = "This agent has a subscription to this launch."
    remedy = "Cancel it first, while the launch is open."


class SubscriptionEnded(Conflict):
    """The subscription was cancelled, or the launch has closed."""

    code = "SUBSCRIPTION_ENDED"
    sentence = "The subscription was cancelled, or the launch has closed."


class LaunchNotOpen(Conflict):
    """The launch is not open: it has yet to open, or it has closed."""

    code = "LAUNCH_NOT_OPEN"
    sentence = "The launch of this listing is not open."
    remedy = "Subscribe between `opens_at` and `closes_at` of the listing."


class OwnerMaximum(Conflict):
    """The agents of one owner would subscribe more points than one owner may."""

    code = "OWNER_MAXIMUM"
    sentence = "The agents of this owner would subscribe more than `per_owner_max` points."


class RelatedToSeller(Forbidden):
    """The agent is related to the organization that sells."""

    code = "RELATED_PARTY"
    sentence = "An agent with the same owner as the seller, or with an affiliated one, cannot subscribe."


class AgentHoldsPoints(Conflict):
    """Points or a subscription bind the agent; it cannot end or change its owner before they do."""

    code = "AGENT_HOLDS_POINTS"
    sentence = "The agent holds points, or has a subscription that is not settled."
    remedy = "Cancel its subscriptions, and sell, transfer or give up its points."
