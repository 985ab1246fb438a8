"""Sending a delivery whose statements fail: it arrives all the same, with one id, and ends."""

import asyncio
from contextlib import suppress

import asyncpg

from hansa.foundation.values.errors import Unavailable
from hansa.rooms.notifications.webhooks import WEBHOOKS, WebhookEvent, enqueue_webhook
from tests.faults.completed import POOL_SIZE, CompletedActs, failures, observed
from tests.faults.failing import Fault, Plan, in_turn, put_under_plan
from tests.properties.scale import by_tier
from tests.registry import StartRegistry, TestRegistry
from tests.rooms.notifications.webhooks.receiver import (
    Receiver,
    hook,
    receiving,
    registry_that_may_call,
    send_due,
)

FAULTS = (Fault.KILLED_AFTER, Fault.ANSWER_LOST)
STATUSES = by_tier((200,), (200, 500), (200, 500))
TRIES = 6


async def _deliver(start_registry: StartRegistry) -> None:
    """A delivery arrives after any failure, with one id."""
    async with receiving() as receiver:
        registry = await registry_that_may_call(start_registry, receiver, database_pool_size=POOL_SIZE)
        await hook(await registry.developer(), receiver.url)
        async with observed(registry) as (plan, observer):
            await put_under_plan(registry.database, plan)
            await _fail_each(registry, receiver, plan, observer)


async def _fail_each(
    registry: TestRegistry,
    receiver: Receiver,
    plan: Plan,
    observer: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    await _queue(observer)
    plan.watch()
    await send_due(registry.runtime)
    assert [statement for statement in plan.listed if statement.startswith("COMMIT")]
    for failure in failures(plan, lambda number, _: in_turn(number, FAULTS)):
        for status in STATUSES:
            site = f"{failure}, answer {status}"
            receiver.received.clear()
            receiver.status = status
            await _queue(observer)
            with failure.happens():
                await _send(registry)
            receiver.status = 200
            await _send_until_done(registry, observer, site)
            assert len({got.id for got in receiver.received}) == 1, site
            assert 1 <= len(receiver.received) <= 3, site


async def _queue(observer: "asyncpg.Connection[asyncpg.Record]") -> None:
    async with observer.transaction():
        owner = await observer.fetchval("SELECT developer_id FROM notifications_webhook")
        assert await enqueue_webhook(observer, owner, WebhookEvent.AGENT_REVOKED, {}) == 1


async def _send(registry: TestRegistry) -> None:
    """Send the webhooks that are due; a delivery that a dying database interrupts continues later."""
    with suppress(Unavailable, asyncpg.PostgresError):
        await asyncio.wait_for(send_due(registry.runtime), 30)


async def _send_until_done(
    registry: TestRegistry, observer: "asyncpg.Connection[asyncpg.Record]", site: str
) -> None:
    for _ in range(TRIES):
        await observer.execute(
            "UPDATE plumbing_job SET due_at = now(), lease_until = lease_until - $1 * interval '1 second'"
            " WHERE kind = $2",
            WEBHOOKS.lease_seconds,
            WEBHOOKS.name,
        )
        await observer.execute("UPDATE notifications_webhook SET paused_until = '-infinity'")
        await observer.execute(
            "UPDATE notifications_webhook_delivery SET next_attempt_at = now() WHERE status = 'pending'"
        )
        await _send(registry)
        stands = await observer.fetchrow(
            "SELECT is_active, (SELECT count(*) FROM plumbing_job WHERE kind = $1) AS jobs, (SELECT count(*)"
            " FROM notifications_webhook_delivery WHERE status <> 'delivered') AS open FROM notifications_webhook",
            WEBHOOKS.name,
        )
        if tuple(stands) == (True, 0, 0):
            return
    raise AssertionError(f"{site}: {stands}")


WEBHOOKS_SENT = CompletedActs("webhook", {"a delivery": _deliver})
