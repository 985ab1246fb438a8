"""Webhooks: events of a developer's agents and account are sent to an address of theirs."""

from .deliveries import enqueue_webhook, having_webhooks, resend, send_test
from .queue import forget_old_deliveries, withhold_deliveries
from .records import Webhook
from .routes import SENT_ON_REQUEST, router
from .rules import WebhookEvent
from .schemas import DeliveryOut, NewWebhookOut, RotatedSecretOut, WebhookIn
from .sending import WEBHOOKS
from .store import DEAD_WEBHOOKS
from .subscribing import (
    SEALED_SECRETS,
    Subscription,
    deleted_lately,
    deliveries_of,
    erase_webhooks,
    resubscribe,
    rotate_secret,
    subscribe,
    unsubscribe,
    waiting_deliveries,
    webhooks_of,
)
from .subscribing import change as change_webhook
from .subscribing import find as find_webhook
from .subscribing import lock as lock_webhook

__all__ = [
    "DEAD_WEBHOOKS",
    "SEALED_SECRETS",
    "SENT_ON_REQUEST",
    "WEBHOOKS",
    "DeliveryOut",
    "NewWebhookOut",
    "RotatedSecretOut",
    "Subscription",
    "Webhook",
    "WebhookEvent",
    "WebhookIn",
    "change_webhook",
    "deleted_lately",
    "deliveries_of",
    "enqueue_webhook",
    "erase_webhooks",
    "find_webhook",
    "forget_old_deliveries",
    "having_webhooks",
    "lock_webhook",
    "resend",
    "resubscribe",
    "rotate_secret",
    "router",
    "send_test",
    "subscribe",
    "unsubscribe",
    "waiting_deliveries",
    "webhooks_of",
    "withhold_deliveries",
]
