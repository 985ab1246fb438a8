"""Webhooks: what happens to a developer's agents and account is sent to an address of theirs."""

from .deliveries import enqueue_webhook, having_webhooks
from .reading import waiting_deliveries
from .retention import forget_old_deliveries, withhold_deliveries
from .routes import router
from .rules import WebhookEvent
from .sending import WEBHOOKS
from .subscribing import erase_webhooks

__all__ = [
    "WEBHOOKS",
    "WebhookEvent",
    "enqueue_webhook",
    "erase_webhooks",
    "forget_old_deliveries",
    "having_webhooks",
    "router",
    "waiting_deliveries",
    "withhold_deliveries",
]
