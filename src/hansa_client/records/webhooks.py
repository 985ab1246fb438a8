"""Answers about webhooks and their deliveries."""

from datetime import datetime
from typing import Any, ClassVar

from .record import Record


class Webhook(Record, frozen=True):
    """A webhook; `stopped_by` says why an inactive one is: `owner`, `failures` or `gone`."""

    id: str
    url: str
    event_types: list[str]
    description: str | None
    is_active: bool
    stopped_by: str | None
    stopped_at: datetime | None
    consecutive_failures: int
    created_at: datetime
    updated_at: datetime
    secret_version: str | None = None


class NewWebhook(Webhook, frozen=True, kw_only=True):
    """A new webhook. `secret` signs its deliveries and is returned this once; see `hansa_client.webhooks`."""

    secrets: ClassVar = frozenset({"secret"})

    secret: str


class RotatedWebhookSecret(Record, frozen=True):
    """A new secret, returned this once. Until `former_secret_until` deliveries are also signed with the one before it."""

    secrets: ClassVar = frozenset({"secret"})

    id: str
    secret: str
    former_secret_until: datetime


class WebhookDelivery(Record, frozen=True):
    """One message to a webhook and the result of its last attempt. `id` is the header `webhook-id` of every attempt."""

    id: str
    webhook_id: str
    event_type: str
    payload: dict[str, Any]
    status: str
    tries: int
    next_try_at: datetime | None
    created_at: datetime
    last_tried_at: datetime | None
    answered_status: int | None
    trouble: str | None


class DeletedWebhook(Record, frozen=True):
    """A webhook that was deleted with its deliveries."""

    id: str
    is_deleted: bool
