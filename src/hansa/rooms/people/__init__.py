"""People: developers, their accounts and sessions."""

from .administrators import admit_administrator, create_administrator, has_administrator
from .api_keys import router as api_keys_router
from .audit_log import router as audit_log_router
from .check import check_developer
from .deletion import Blocker, OwnedData, is_account_closed
from .deletion import carry_out_due as carry_out_due_deletions
from .deletion import router as deletion_router
from .expiry import forget_ended
from .invites import router as invites_router
from .recovery import FORGOTTEN_PASSWORDS, check_password_setter, drop_password_requests
from .routes import router
from .store import names_of
from .webhooks import (
    WebhookEvent,
    enqueue_webhook,
    forget_old_deliveries,
    waiting_deliveries,
    withhold_deliveries,
)
from .webhooks import router as webhooks_router
from .webhooks import send_due as send_webhooks

__all__ = [
    "FORGOTTEN_PASSWORDS",
    "Blocker",
    "OwnedData",
    "WebhookEvent",
    "admit_administrator",
    "api_keys_router",
    "audit_log_router",
    "carry_out_due_deletions",
    "check_developer",
    "check_password_setter",
    "create_administrator",
    "deletion_router",
    "drop_password_requests",
    "enqueue_webhook",
    "forget_ended",
    "forget_old_deliveries",
    "has_administrator",
    "invites_router",
    "is_account_closed",
    "names_of",
    "router",
    "send_webhooks",
    "waiting_deliveries",
    "webhooks_router",
    "withhold_deliveries",
]
