"""Deliveries, queued in the transaction of the event that they report."""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import new_name

from . import store
from .errors import DeliveryUnknown, WebhookStopped
from .queue import schedule
from .records import Delivery
from .rules import WebhookEvent
from .subscribing import ID_CHARACTERS, lock


async def enqueue_webhook(
    tx: Tx, developer_id: int, event_type: WebhookEvent, payload: Mapping[str, Any]
) -> int:
    """Notify the developer's webhooks that something happened; returns how many will be notified.

    `payload` is the `data` of the message, JSON-ready, without secrets. The deliveries stand when `tx` commits.
    """
    webhook_ids = await store.subscribed(tx, developer_id, event_type)
    if webhook_ids:
        deliveries = {webhook_id: _new_id() for webhook_id in webhook_ids}
        await store.enqueue(
            tx, deliveries, event_type, _message(event_type, await clock.began_at(tx), payload)
        )
        await schedule(tx, webhook_ids)
    return len(webhook_ids)


async def having_webhooks(tx: Tx, developer_ids: Collection[int]) -> set[int]:
    """Those of these developers who have active webhooks."""
    return await store.having_webhooks(tx, developer_ids)


async def send_test(tx: Tx, developer_id: int, webhook_id: str) -> Delivery:
    """Queue a test, whatever the webhook is subscribed to.

    Raises: WebhookUnknown, WebhookStopped.
    """
    await _lock_active(tx, developer_id, webhook_id)
    message = _message(WebhookEvent.TEST, await clock.began_at(tx), {"webhook_id": webhook_id})
    delivery = await store.enqueue_at_once(tx, webhook_id, _new_id(), WebhookEvent.TEST, message)
    await schedule(tx, [webhook_id])
    return delivery


async def resend(tx: Tx, developer_id: int, webhook_id: str, delivery_id: str) -> Delivery:
    """Queue a delivery anew, however it ended, with its id and its bytes.

    Raises: WebhookUnknown, WebhookStopped, DeliveryUnknown.
    """
    await _lock_active(tx, developer_id, webhook_id)
    delivery = await store.requeue(tx, webhook_id, delivery_id)
    if delivery is None:
        raise DeliveryUnknown
    await schedule(tx, [webhook_id])
    return delivery


async def _lock_active(tx: Tx, developer_id: int, webhook_id: str) -> None:
    webhook = await lock(tx, developer_id, webhook_id)
    if not webhook.is_active:
        raise WebhookStopped


def _message(event_type: str, instant: datetime, payload: Mapping[str, Any]) -> str:
    whole = {"type": event_type, "timestamp": instant.isoformat(), "data": payload}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def _new_id() -> str:
    return new_name("msg_", ID_CHARACTERS)
