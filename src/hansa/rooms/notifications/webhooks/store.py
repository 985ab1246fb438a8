"""Every SQL statement of webhooks.

A deleted webhook stays for the seconds in which that may be undone, without a slot; `_KEPT` leaves it out. A webhook is locked before its deliveries and its job, and webhooks in the order of their ids. Whoever records the end of
an attempt locks the webhook in a statement of its own: only the next statement sees the commits of others until then.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_facts import PageFact
from hansa.foundation.plumbing.storage.reversible import is_final, is_reversible
from hansa.foundation.plumbing.telemetry.job_health import Waiting

from .records import Delivery, Due, Locked, PendingDelivery, Webhook
from .rules import EVERY_EVENT, WEBHOOKS_MAX, StoppedBy

# The sealed secret is a new text for each secret, so its hash is a version that does not disclose it.
_VERSION = "left(encode(sha256(sealed_secret), 'hex'), 32)"
_SHOWN = (
    "id, url, event_types, description, is_active, stopped_by, stopped_at, consecutive_failures, created_at, updated_at,"
    f" {_VERSION} AS secret_version"
)
# What the owner asked for stands at the head of the queue, long overdue; it is shown as due since it was written.
_DELIVERY = (
    "id, webhook_id, event_type, payload, status, attempts, created_at, last_attempt_at, response_status, error,"
    " CASE WHEN status = 'pending' THEN greatest(next_attempt_at, created_at) END AS next_attempt_at"
)
_AT_ONCE = "to_timestamp(0)"
_KEPT = "deleted_at IS NULL"
_FREE_SLOT = f"""
FROM generate_series(1, {WEBHOOKS_MAX}) AS free (slot)
WHERE NOT EXISTS (SELECT 1 FROM notifications_webhook w WHERE w.developer_id = $2 AND w.slot = free.slot)
ORDER BY free.slot LIMIT 1
"""  # noqa: S608

_ADD = f"""
INSERT INTO notifications_webhook (id, developer_id, slot, url, place, event_types, description, sealed_secret)
SELECT $1, $2, free.slot, $3, $4, $5, $6, $7 {_FREE_SLOT}
RETURNING {_SHOWN}
"""

DEAD_WEBHOOKS = PageFact("""
SELECT count(*) FROM notifications_webhook w WHERE w.developer_id = asked.developer_id AND w.stopped_by IN ('failures', 'gone')
  AND w.deleted_at IS NULL
""")
"""Webhooks that stopped because their receiver failed or is gone."""

_CHANGE = f"""
UPDATE notifications_webhook SET url = $3, place = $4, event_types = $5, description = $6, is_active = $7,
  stopped_by = CASE WHEN $7 THEN NULL ELSE coalesce(stopped_by, 'owner') END,
  stopped_at = CASE WHEN $7 THEN NULL ELSE coalesce(stopped_at, now()) END,
  consecutive_failures = CASE WHEN $7 THEN 0 ELSE consecutive_failures END,
  paused_until = '-infinity', updated_at = now()
WHERE id = $1 AND developer_id = $2 AND {_KEPT} RETURNING {_SHOWN}
"""  # noqa: S608

_IS_REVERSIBLE = is_reversible("deleted_at")

_DELETE = f"""
UPDATE notifications_webhook SET deleted_at = clock_timestamp(), slot = NULL
WHERE id = $1 AND developer_id = $2 AND {_KEPT}
"""  # noqa: S608

_RESTORE = f"""
UPDATE notifications_webhook SET deleted_at = NULL, slot = free.slot FROM (SELECT free.slot {_FREE_SLOT}) free
WHERE id = $1 AND developer_id = $2 AND {_IS_REVERSIBLE} RETURNING true
"""  # noqa: S608

_ROTATE = f"""
UPDATE notifications_webhook SET sealed_former_secret = sealed_secret, sealed_secret = $3, updated_at = now(),
  former_secret_until = now() + make_interval(hours => $4)
WHERE id = $1 AND developer_id = $2 AND sealed_secret = $5 AND {_KEPT} RETURNING former_secret_until
"""  # noqa: S608

_ERRAND = """
SELECT w.id AS webhook_id, w.url, w.place, d.id AS delivery_id, d.event_type, d.payload, d.attempts,
  floor(extract(epoch FROM clock_timestamp()))::bigint AS moment,
  CASE WHEN w.former_secret_until > clock_timestamp() THEN ARRAY[w.sealed_secret, w.sealed_former_secret]
    ELSE ARRAY[w.sealed_secret] END AS sealed_secrets
FROM notifications_webhook w JOIN notifications_webhook_delivery d ON d.webhook_id = w.id
WHERE w.id = $1 AND w.is_active AND w.deleted_at IS NULL AND w.paused_until <= clock_timestamp()
  AND d.status = 'pending' AND d.next_attempt_at <= clock_timestamp()
ORDER BY d.next_attempt_at, d.created_at, d.id LIMIT 1
"""

# With none that waits there is no row.
_DUE = """
SELECT w.id AS webhook_id, w.place, greatest(d.next_attempt_at, w.paused_until) AS due_at
FROM notifications_webhook w CROSS JOIN LATERAL (
  SELECT next_attempt_at FROM notifications_webhook_delivery WHERE webhook_id = w.id AND status = 'pending'
  ORDER BY next_attempt_at LIMIT 1
) d WHERE w.id = ANY ($1) AND w.is_active AND w.deleted_at IS NULL
"""

_END_ATTEMPT = """
UPDATE notifications_webhook_delivery SET attempts = attempts + 1, last_attempt_at = clock_timestamp(), response_status = $3,
  error = $4, status = $2, next_attempt_at = CASE $2 WHEN 'pending'
    THEN clock_timestamp() + $5::float8 * interval '1 second' END
WHERE id = $1 AND status = 'pending'
"""

_END_RUN = """
UPDATE notifications_webhook SET consecutive_failures = $2,
  is_active = is_active AND $3::text IS NULL,
  stopped_by = CASE WHEN is_active THEN $3::text ELSE stopped_by END,
  stopped_at = CASE WHEN is_active AND $3::text IS NOT NULL THEN now() ELSE stopped_at END,
  paused_until = clock_timestamp() + $4::float8 * interval '1 second'
WHERE id = $1
"""


async def add(
    tx: Tx,
    webhook_id: str,
    developer_id: int,
    *,
    url: str,
    place: str,
    event_types: Sequence[str],
    description: str | None,
    sealed_secret: bytes,
) -> Webhook | None:
    """The new webhook, or None when every slot of the developer is taken."""
    row = await tx.fetchrow(
        _ADD, webhook_id, developer_id, url, place, list(event_types), description, sealed_secret
    )
    return Webhook(**row) if row else None


async def webhooks_of(tx: Tx, developer_id: int) -> list[Webhook]:
    """The developer's webhooks, oldest first."""
    rows = await tx.fetch(
        f"SELECT {_SHOWN} FROM notifications_webhook WHERE developer_id = $1 AND {_KEPT} ORDER BY created_at, id",  # noqa: S608
        developer_id,
    )
    return [Webhook(**row) for row in rows]


async def find(tx: Tx, developer_id: int, webhook_id: str) -> Webhook | None:
    row = await tx.fetchrow(
        f"SELECT {_SHOWN} FROM notifications_webhook WHERE id = $1 AND developer_id = $2 AND {_KEPT}",  # noqa: S608
        webhook_id,
        developer_id,
    )
    return Webhook(**row) if row else None


async def lock(tx: Tx, developer_id: int, webhook_id: str) -> Webhook | None:
    """Find a webhook as `find` does, and lock it until the end of the transaction."""
    row = await tx.fetchrow(
        f"SELECT {_SHOWN} FROM notifications_webhook WHERE id = $1 AND developer_id = $2 AND {_KEPT} FOR UPDATE",  # noqa: S608
        webhook_id,
        developer_id,
    )
    return Webhook(**row) if row else None


async def change(tx: Tx, developer_id: int, changed: Webhook, place: str) -> Webhook:
    """Write the members of a locked webhook that the owner may change; made active, it begins afresh."""
    row = await tx.fetchrow(
        _CHANGE,
        changed.id,
        developer_id,
        changed.url,
        place,
        changed.event_types,
        changed.description,
        changed.is_active,
    )
    assert row is not None
    return Webhook(**row)


async def hasten(tx: Tx, webhook_id: str) -> None:
    """Make the waiting deliveries of a locked webhook due now."""
    await tx.execute(
        "UPDATE notifications_webhook_delivery SET next_attempt_at = least(next_attempt_at, now())"
        " WHERE webhook_id = $1 AND status = 'pending'",
        webhook_id,
    )


async def sealed_secret_of(tx: Tx, developer_id: int, webhook_id: str) -> bytes | None:
    """The present secret, or None without such a webhook."""
    sealed: bytes | None = await tx.fetchval(
        f"SELECT sealed_secret FROM notifications_webhook WHERE id = $1 AND developer_id = $2 AND {_KEPT}",  # noqa: S608
        webhook_id,
        developer_id,
    )
    return sealed


async def rotate(
    tx: Tx, developer_id: int, webhook_id: str, former: bytes, sealed: bytes, *, hours: int
) -> datetime | None:
    """Until when the former secret signs too, or None where it is not the present one any more."""
    until: datetime | None = await tx.fetchval(_ROTATE, webhook_id, developer_id, sealed, hours, former)
    return until


async def delete(tx: Tx, developer_id: int, webhook_id: str) -> bool:
    """Delete a webhook with its deliveries, for good once that can no longer be undone; whether there was one."""
    outcome = await tx.execute(_DELETE, webhook_id, developer_id)
    return outcome == "UPDATE 1"


async def deleted_lately(tx: Tx, developer_id: int) -> list[Webhook]:
    """The developer's webhooks whose deletion may still be undone."""
    rows = await tx.fetch(
        f"SELECT {_SHOWN} FROM notifications_webhook WHERE developer_id = $1 AND {_IS_REVERSIBLE} ORDER BY deleted_at, id",  # noqa: S608
        developer_id,
    )
    return [Webhook(**row) for row in rows]


async def restore(tx: Tx, developer_id: int, webhook_id: str) -> bool:
    """Undo a deletion, where it may still be undone and a slot is free."""
    return await tx.fetchval(_RESTORE, webhook_id, developer_id) is not None


async def forget_deleted(tx: Tx) -> None:
    """Delete the webhooks whose deletion can no longer be undone, with their deliveries."""
    await tx.execute(f"DELETE FROM notifications_webhook WHERE {is_final('deleted_at')}")  # noqa: S608


async def delete_all(tx: Tx, developer_id: int) -> list[str]:
    """Delete the webhooks of a developer with their deliveries; returns their ids."""
    rows = await tx.fetch(
        "DELETE FROM notifications_webhook WHERE developer_id = $1 RETURNING id", developer_id
    )
    return [row["id"] for row in rows]


async def having_webhooks(tx: Tx, developer_ids: Collection[int]) -> set[int]:
    """Those of these developers who have active webhooks."""
    rows = await tx.fetch(
        "SELECT DISTINCT developer_id FROM notifications_webhook WHERE developer_id = ANY($1) AND is_active"
        " AND deleted_at IS NULL",
        list(developer_ids),
    )
    return {row["developer_id"] for row in rows}


async def subscribed(tx: Tx, developer_id: int, event_type: str) -> list[str]:
    """The developer's active webhooks for these events, locked."""
    rows = await tx.fetch(
        "SELECT id FROM notifications_webhook WHERE developer_id = $1 AND is_active AND deleted_at IS NULL AND event_types && $2"
        " ORDER BY id FOR UPDATE",
        developer_id,
        [event_type, EVERY_EVENT],
    )
    return [row["id"] for row in rows]


async def enqueue(tx: Tx, deliveries: Mapping[str, str], event_type: str, payload: str) -> None:
    """Queue the payload for each of these locked webhooks; `deliveries` are new ids by webhook."""
    webhook_ids = list(deliveries)
    await tx.execute(
        "INSERT INTO notifications_webhook_delivery (id, webhook_id, event_type, payload)"
        " SELECT q.id, q.webhook_id, $3, $4 FROM unnest($1::text[], $2::text[]) AS q (id, webhook_id)",
        list(deliveries.values()),
        webhook_ids,
        event_type,
        payload,
    )


async def enqueue_at_once(
    tx: Tx, webhook_id: str, delivery_id: str, event_type: str, payload: str
) -> Delivery:
    """Queue a delivery that the owner of a locked webhook asked for, before all others."""
    row = await tx.fetchrow(
        "INSERT INTO notifications_webhook_delivery (id, webhook_id, event_type, payload, next_attempt_at)"  # noqa: S608
        f" VALUES ($1, $2, $3, $4, {_AT_ONCE}) RETURNING {_DELIVERY}",
        delivery_id,
        webhook_id,
        event_type,
        payload,
    )
    assert row is not None
    await _end_pause(tx, webhook_id)
    return Delivery(**row)


async def requeue(tx: Tx, webhook_id: str, delivery_id: str) -> Delivery | None:
    """Queue a delivery of a locked webhook anew, before all others; None without such a one."""
    row = await tx.fetchrow(
        f"UPDATE notifications_webhook_delivery SET status = 'pending', attempts = 0, next_attempt_at = {_AT_ONCE}"  # noqa: S608
        f" WHERE id = $1 AND webhook_id = $2 RETURNING {_DELIVERY}",
        delivery_id,
        webhook_id,
    )
    if row is None:
        return None
    await _end_pause(tx, webhook_id)
    return Delivery(**row)


async def _end_pause(tx: Tx, webhook_id: str) -> None:
    await tx.execute("UPDATE notifications_webhook SET paused_until = '-infinity' WHERE id = $1", webhook_id)


async def due(tx: Tx, webhook_ids: Sequence[str]) -> list[Due]:
    """When the active ones of these locked webhooks have something to send; those without are left out."""
    return [Due(**row) for row in await tx.fetch(_DUE, webhook_ids)]


async def deliveries_of(
    tx: Tx, webhook_id: str, status: str | None, *, limit: int, offset: int
) -> tuple[list[Delivery], int]:
    """A page of deliveries, newest first, and how many there are in all."""
    selected = (
        "FROM notifications_webhook_delivery WHERE webhook_id = $1 AND ($2::text IS NULL OR status = $2)"
    )
    rows = await tx.fetch(
        f"SELECT {_DELIVERY} {selected} ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4",
        webhook_id,
        status,
        limit,
        offset,
    )
    total: int = await tx.fetchval(f"SELECT count(*) {selected}", webhook_id, status)
    return [Delivery(**row) for row in rows], total


async def pending_delivery_of(tx: Tx, webhook_id: str) -> PendingDelivery | None:
    """The first delivery of a webhook that is due; None while there is none, and for one that is paused or stopped."""
    row = await tx.fetchrow(_ERRAND, webhook_id)
    return PendingDelivery(**row) if row else None


async def developer_of(tx: Tx, webhook_id: str) -> int | None:
    """The owner of a webhook."""
    developer_id: int | None = await tx.fetchval(
        "SELECT developer_id FROM notifications_webhook WHERE id = $1", webhook_id
    )
    return developer_id


async def lock_for_outcome(tx: Tx, webhook_id: str) -> Locked | None:
    """The webhook whose try has ended; None when it was deleted meanwhile."""
    row = await tx.fetchrow(
        "SELECT developer_id, is_active, consecutive_failures FROM notifications_webhook"
        " WHERE id = $1 AND deleted_at IS NULL FOR UPDATE",
        webhook_id,
    )
    return Locked(**row) if row else None


async def end_attempt(
    tx: Tx,
    delivery_id: str,
    status: str,
    *,
    response_status: int | None,
    error: str | None = None,
    pause_seconds: float | None = None,
) -> None:
    """Write how a try ended; a delivery that is done already stays as it is."""
    await tx.execute(_END_ATTEMPT, delivery_id, status, response_status, error, pause_seconds)


async def end_run(
    tx: Tx,
    webhook_id: str,
    *,
    consecutive_failures: int,
    stopped_by: StoppedBy | None = None,
    pause_seconds: float = 0,
) -> None:
    """Write the effects of an attempt on a locked webhook: its failures in a row, its stop, its pause."""
    await tx.execute(_END_RUN, webhook_id, consecutive_failures, stopped_by, pause_seconds)


async def withhold_pending(tx: Tx, error: str) -> int:
    """End every delivery that waits, as failed; returns how many there were. Their owners may send them again."""
    outcome = await tx.execute(
        "UPDATE notifications_webhook_delivery SET status = 'failed', next_attempt_at = NULL, error = $1 WHERE status = 'pending'",
        error,
    )
    return int(outcome.removeprefix("UPDATE "))


async def forget_old(tx: Tx, days: int) -> None:
    """Delete deliveries of long ago, however they ended."""
    await tx.execute(
        "DELETE FROM notifications_webhook_delivery WHERE created_at < now() - make_interval(days => $1)",
        days,
    )


async def waiting_deliveries(tx: Tx) -> Waiting:
    """Count the deliveries that wait for active webhooks."""
    row = await tx.fetchrow(
        "SELECT count(*) AS count, extract(epoch FROM now() - min(d.created_at))::float8 AS oldest_seconds"
        " FROM notifications_webhook w JOIN notifications_webhook_delivery d ON d.webhook_id = w.id"
        " WHERE w.is_active AND w.deleted_at IS NULL AND d.status = 'pending'"
    )
    assert row is not None
    return Waiting(**row)
