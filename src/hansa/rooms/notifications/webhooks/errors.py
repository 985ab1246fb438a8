"""Why the webhooks refuse."""

from hansa.foundation.values.errors import Conflict, NotFound

from .rules import WEBHOOKS_MAX


class WebhookUnknown(NotFound):
    """The developer has no webhook with this id."""

    code = "WEBHOOK_UNKNOWN"
    sentence = "You have no webhook with this id."


class DeliveryUnknown(NotFound):
    """The webhook has no delivery with this id; deliveries are deleted after 30 days."""

    code = "DELIVERY_UNKNOWN"
    sentence = "The webhook has no delivery with this id."


class TooManyWebhooks(Conflict):
    """The developer has the maximum number of webhooks."""

    code = "TOO_MANY_WEBHOOKS"
    sentence = f"A developer has at most {WEBHOOKS_MAX} webhooks; delete one first."


class WebhookStopped(Conflict):
    """The webhook is not active, so nothing is sent to it; activate it with PUT."""

    code = "WEBHOOK_STOPPED"
    sentence = "This webhook is not active; activate it with PUT first."
