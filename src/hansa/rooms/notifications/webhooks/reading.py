"""Reads of webhooks for their owner."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.job_health import Waiting

from . import store
from .records import Delivery, Webhook
from .subscribing import find


async def webhooks_of(tx: Tx, developer_id: int) -> list[Webhook]:
    """The developer's webhooks, oldest first."""
    return await store.webhooks_of(tx, developer_id)


async def waiting_deliveries(tx: Tx) -> Waiting:
    """The deliveries that still have a try before them."""
    return await store.waiting_deliveries(tx)


async def deliveries_of(
    tx: Tx, developer_id: int, webhook_id: str, *, status: str | None, limit: int, offset: int
) -> tuple[list[Delivery], int]:
    """A page of a webhook's deliveries, newest first, and how many there are. Raises: WebhookUnknown."""
    webhook = await find(tx, developer_id, webhook_id)
    return await store.deliveries_of(tx, webhook.id, status, limit=limit, offset=offset)
