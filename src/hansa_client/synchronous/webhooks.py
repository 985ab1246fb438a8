# Generated from hansa_client/asynchronous/webhooks.py by `python -m tests.house.synchronous`.
"""Webhooks of the developer that this client acts for. `hansa_client.webhooks` verifies received deliveries."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from hansa_client.calls import Call, if_version
from hansa_client.records.record import Page
from hansa_client.records.webhooks import (
    DeletedWebhook,
    NewWebhook,
    RotatedWebhookSecret,
    Webhook,
    WebhookDelivery,
)

from .session import Session
from .transport import Transport

PREFIX = "/api/v1/developers/webhooks"


class Webhooks:
    """Create, change and test webhooks, and read their deliveries."""

    def __init__(self, transport: Transport, owner: Session) -> None:
        self._transport = transport
        self._owner = owner

    def create(
        self, url: str, event_types: Sequence[str] = ("*",), *, description: str | None = None
    ) -> NewWebhook:
        """Create a webhook for event types; `*` is all. A lost answer raises OutcomeUnknown.

        Raises: Invalid, Conflict, OutcomeUnknown.
        """
        body = {"url": url, "event_types": list(event_types), "description": description}
        return self._transport.answer(Call("POST", PREFIX, json=body), NewWebhook, self._owner)

    def list(self, *, limit: int = 50, offset: int = 0) -> Page[Webhook]:
        """The developer's webhooks, oldest first."""
        call = Call("GET", PREFIX, query={"limit": limit, "offset": offset})
        return self._transport.answer(call, Page[Webhook], self._owner)

    def read(self, webhook_id: str) -> Webhook:
        """One webhook. Raises: NotFound."""
        return self._transport.answer(Call("GET", _path(webhook_id)), Webhook, self._owner)

    def change(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        event_types: Sequence[str] | None = None,
        description: str | None = None,
        is_active: bool = True,
    ) -> Webhook:
        """Change the given members, and activate the webhook unless `is_active` is False. Raises: NotFound, Invalid."""
        body: dict[str, Any] = {
            "url": url,
            "event_types": None if event_types is None else [*event_types],
            "description": description,
            "is_active": is_active,
        }
        return self._transport.answer(Call("PUT", _path(webhook_id), json=body), Webhook, self._owner)

    def delete(self, webhook_id: str) -> DeletedWebhook:
        """Delete a webhook with its deliveries. Raises: NotFound."""
        return self._transport.answer(Call("DELETE", _path(webhook_id)), DeletedWebhook, self._owner)

    def rotate_secret(self, webhook_id: str, *, secret_version: str | None = None) -> RotatedWebhookSecret:
        """Replace the secret; for one day deliveries are also signed with the one before it.

        With the `secret_version` of the webhook, a secret that somebody replaced since then stays as it is: the call raises
        PreconditionFailed, also when it is repeated after OutcomeUnknown and the first one took effect.
        """
        headers = if_version(secret_version)
        call = Call("POST", f"{_path(webhook_id)}/rotate-secret", headers=headers)
        return self._transport.answer(call, RotatedWebhookSecret, self._owner)

    def test(self, webhook_id: str) -> WebhookDelivery:
        """Send a `webhook.test` now, with one attempt. Raises: Conflict for a stopped webhook."""
        call = Call("POST", f"{_path(webhook_id)}/test")
        return self._transport.answer(call, WebhookDelivery, self._owner)

    def deliveries(
        self, webhook_id: str, *, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> Page[WebhookDelivery]:
        """Deliveries, newest first; `status` is `pending`, `delivered` or `failed`."""
        query = {"status": status, "limit": limit, "offset": offset}
        call = Call("GET", f"{_path(webhook_id)}/deliveries", query=query)
        return self._transport.answer(call, Page[WebhookDelivery], self._owner)

    def resend(self, webhook_id: str, delivery_id: str) -> WebhookDelivery:
        """Send a delivery again with the same id and content. Raises: NotFound, Conflict for a stopped webhook."""
        call = Call("POST", f"{_path(webhook_id)}/deliveries/{quote(delivery_id, safe='')}/resend")
        return self._transport.answer(call, WebhookDelivery, self._owner)


def _path(webhook_id: str) -> str:
    return f"{PREFIX}/{quote(webhook_id, safe='')}"
