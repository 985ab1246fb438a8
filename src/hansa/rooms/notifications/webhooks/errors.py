"""Why the webhooks refuse."""

from hansa.foundation.values.errors import Conflict, NotFound

from .rules import WEBHOOKS_MAX


class WebhookUnknown(NotFound):
    """The developer has no webhook of that id."""

    code = "WEBHOOK_UNKNOWN"
    sentence = "You have no webhook of that id."


class DeliveryUnknown(NotFound):
    """The webhook has no delivery of that id; they are deleted after 30 days."""

    code = "DELIVERY_UNKNOWN"
    sentence = "The webhook has no delivery of that id."


class TooManyWebhooks(Conflict):
    """The developer has as many webhooks as there may be."""

    code = "TOO_MANY_WEBHOOKS"
    sentence = f"A developer has at most {WEBHOOKS_MAX} webhooks; delete one first."


class WebhookStopped(Conflict):
    """The webhook is not active, so nothing is sent to it; a PUT sets it going."""

    code = "WEBHOOK_STOPPED"
    sentence = "This webhook is not active; set it going with PUT first."
