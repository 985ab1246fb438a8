"""Webhooks: what happens to a developer's agents and account, told to an address of theirs as it happens."""

from .reading import waiting_deliveries
from .routes import router
from .rules import WebhookEvent
from .sending import send_due
from .sweeping import forget_old_deliveries, withhold_deliveries
from .telling import enqueue_webhook

__all__ = [
    "WebhookEvent",
    "enqueue_webhook",
    "forget_old_deliveries",
    "router",
    "send_due",
    "waiting_deliveries",
    "withhold_deliveries",
]
