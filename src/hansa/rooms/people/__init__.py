"""People: developers, their accounts and sessions."""

from .administrators import admit_administrator, create_administrator, has_administrator
from .deletion import is_account_closed
from .descriptor import ROOM
from .recovery import drop_password_requests
from .store import names_of
from .webhooks import (
    WebhookEvent,
    enqueue_webhook,
    waiting_deliveries,
    withhold_deliveries,
)

__all__ = [
    "ROOM",
    "WebhookEvent",
    "admit_administrator",
    "create_administrator",
    "drop_password_requests",
    "enqueue_webhook",
    "has_administrator",
    "is_account_closed",
    "names_of",
    "waiting_deliveries",
    "withhold_deliveries",
]
