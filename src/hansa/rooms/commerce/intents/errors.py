"""Refusals of intents."""

from hansa.foundation.values.errors import Conflict, NotFound


class IntentUnknown(NotFound):
    """No intent of this caller has this id."""

    code = "INTENT_UNKNOWN"
    sentence = "No intent of this caller has this id."
    remedy = "Ask for a new intent with the preview of the payment."


class IntentExpired(Conflict):
    """The time of the intent is over, and it was not paid."""

    code = "INTENT_EXPIRED"
    sentence = "The time of this intent is over; nothing was paid."
    remedy = "Ask for a new intent with the preview of the payment."


class IntentPaid(Conflict):
    """The intent was paid before; an intent is paid once for good."""

    code = "INTENT_PAID"
    sentence = "This intent was paid before; nothing was paid now."
    remedy = "Ask for a new intent where another payment is meant."


class IntentUnreadable(Conflict):
    """The sealed arguments of the intent do not open with the present key of the registry."""

    code = "INTENT_UNREADABLE"
    sentence = "The registry has changed its sealing key since this intent was made; nothing was paid."
    remedy = "Ask for a new intent with the preview of the payment."
