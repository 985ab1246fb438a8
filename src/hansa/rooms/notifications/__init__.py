"""Notifications: messages to owners about events."""

from .descriptor import ROOM
from .owner_notices import OWNER_NOTICES
from .webhooks import (
    SENT_ON_REQUEST,
    DeliveryOut,
    NewWebhookOut,
    RotatedSecretOut,
    Subscription,
    WebhookEvent,
    WebhookIn,
    change_webhook,
    deliveries_of,
    find_webhook,
    lock_webhook,
    resend,
    rotate_secret,
    send_test,
    subscribe,
    unsubscribe,
    waiting_deliveries,
    webhooks_of,
    withhold_deliveries,
)

__all__ = [
    "OWNER_NOTICES",
    "ROOM",
    "SENT_ON_REQUEST",
    "DeliveryOut",
    "NewWebhookOut",
    "RotatedSecretOut",
    "Subscription",
    "WebhookEvent",
    "WebhookIn",
    "change_webhook",
    "deliveries_of",
    "find_webhook",
    "lock_webhook",
    "resend",
    "rotate_secret",
    "send_test",
    "subscribe",
    "unsubscribe",
    "waiting_deliveries",
    "webhooks_of",
    "withhold_deliveries",
]
