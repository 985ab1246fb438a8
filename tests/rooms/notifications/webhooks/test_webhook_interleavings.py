"""Pairs of acts on the queue of one webhook, in every order of their statements: nothing is sent twice or forgotten."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job
from hansa.foundation.plumbing.jobs import store as job_store
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import new_name
from hansa.rooms.notifications.webhooks import WEBHOOKS, store, subscribing
from hansa.rooms.notifications.webhooks.deliveries import enqueue_webhook, send_test
from hansa.rooms.notifications.webhooks.records import PendingDelivery
from hansa.rooms.notifications.webhooks.rules import Outcome, WebhookEvent
from hansa.rooms.notifications.webhooks.sending import record
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_every_order
from tests.registry import DatabaseFarm, TestRegistry

URL = "https://receiver.example.com/hook"


@dataclass(frozen=True)
class Stands:
    """How a webhook stands."""

    is_deleted: bool
    is_leased: bool
    is_due: bool
    deliveries: list[tuple[str, str]]

    @property
    def is_gone(self) -> bool:
        """True when it is deleted and nothing is sent to it."""
        return self.is_deleted and not self.is_leased and not self.is_due

    @property
    def waiting(self) -> int:
        return sum(status == "pending" for _, status in self.deliveries)


class Queue:
    """A webhook with `waiting` deliveries, of which the first is `under_way` or not."""

    def __init__(self, owner: int, seal: Seal, *, waiting: int, under_way: bool) -> None:
        self._seal = seal
        self.id = new_name("whk_", 24)
        self.attempt: tuple[Job, PendingDelivery] | None = None
        self._owner = owner
        self._waiting = waiting
        self._under_way = under_way

    async def open(self, tx: Tx) -> None:
        await tx.execute("DELETE FROM notifications_webhook")
        await jobs.withdraw(tx, WEBHOOKS.name)
        made = await store.add(
            tx,
            self.id,
            self._owner,
            url=URL,
            place="receiver.example.com:443",
            event_types=["*"],
            description=None,
            sealed_secret=b"sealed",
        )
        assert made is not None
        for _ in range(self._waiting):
            await self.enqueue()(tx)

    async def begin(self, tx: Tx) -> None:
        if self._under_way:
            self.attempt = await _begin(tx)
            assert self.attempt is not None

    def enqueue(self) -> UseCase:
        return lambda tx: enqueue_webhook(tx, self._owner, WebhookEvent.AGENT_REVOKED, {})

    def test(self) -> UseCase:
        return lambda tx: send_test(tx, self._owner, self.id)

    def claim(self) -> UseCase:
        return _begin

    def record(self, status: int) -> UseCase:
        attempt = self.attempt
        assert attempt is not None
        return lambda tx: record(tx, self._seal, *attempt, Outcome(status))

    def stop(self) -> UseCase:
        async def act(tx: Tx) -> None:
            webhook = await subscribing.lock(tx, self._owner, self.id)
            await subscribing.change(tx, self._owner, replace(webhook, is_active=False), allowed=())

        return act

    def delete(self) -> UseCase:
        return lambda tx: subscribing.unsubscribe(tx, self._owner, self.id)

    async def stands(self, tx: Tx) -> Stands:
        row = await tx.fetchrow(
            "SELECT w.deleted_at IS NOT NULL AS is_deleted, j.lease_until IS NOT NULL AS is_leased, j.due_at IS NOT NULL AS is_due"
            " FROM notifications_webhook w LEFT JOIN plumbing_job j ON j.key = w.id AND j.kind = $2 WHERE w.id = $1",
            self.id,
            WEBHOOKS.name,
        )
        deliveries = await tx.fetch(
            "SELECT id, status FROM notifications_webhook_delivery WHERE webhook_id = $1", self.id
        )
        assert row is not None
        return Stands(*row, [tuple(delivery) for delivery in deliveries])


async def _begin(tx: Tx) -> tuple[Job, PendingDelivery] | None:
    """Take a due job, and read its delivery."""
    for job in await job_store.claim(tx, WEBHOOKS.name, 1, WEBHOOKS.lease_seconds):
        delivery = await store.pending_delivery_of(tx, job.key)
        assert delivery is not None
        return job, delivery
    return None


Judge = Callable[[Queue, list[Any], Stands], bool]


def errands(outcomes: list[Any]) -> list[PendingDelivery]:
    return [outcome[1] for outcome in outcomes if isinstance(outcome, tuple)]


PAIRS: dict[str, tuple[int, bool, Callable[[Queue], list[UseCase]], Judge]] = {
    "of two claims one gets the webhook": (
        2,
        False,
        lambda queue: [queue.claim(), queue.claim()],
        lambda queue, outcomes, stands: len(errands(outcomes)) == 1 and bool(stands.is_leased),
    ),
    "what is queued while a try ends is not forgotten": (
        1,
        True,
        lambda queue: [queue.record(200), queue.enqueue()],
        lambda queue, outcomes, stands: (stands.is_leased, stands.is_due, stands.waiting) == (False, True, 1),
    ),
    "what is queued while a try fails is not forgotten": (
        1,
        True,
        lambda queue: [queue.record(500), queue.enqueue()],
        lambda queue, outcomes, stands: (stands.is_leased, stands.is_due, stands.waiting) == (False, True, 2),
    ),
    "a claim while a try ends gets what is next or nothing": (
        2,
        True,
        lambda queue: [queue.record(200), queue.claim()],
        lambda queue, outcomes, stands: (
            all(delivery.delivery_id != queue.attempt[1].delivery_id for delivery in errands(outcomes))
            and stands.is_leased is bool(errands(outcomes))
            and (stands.is_due, stands.waiting) == (True, 1)
        ),
    ),
    "a claim while something is queued gets one of them or comes again": (
        1,
        False,
        lambda queue: [queue.claim(), queue.enqueue()],
        lambda queue, outcomes, stands: (
            stands.is_leased is bool(errands(outcomes)) and (stands.is_due, stands.waiting) == (True, 2)
        ),
    ),
    "what is queued while a try is under way is sent by nobody else": (
        1,
        True,
        lambda queue: [queue.enqueue(), queue.claim()],
        lambda queue, outcomes, stands: (
            outcomes == [1, None] and (stands.is_leased, stands.waiting) == (True, 2)
        ),
    ),
    "a test that is asked for while a try is under way is sent by nobody else": (
        1,
        True,
        lambda queue: [queue.test(), queue.claim()],
        lambda queue, outcomes, stands: (
            outcomes[1] is None and (stands.is_leased, stands.waiting) == (True, 2)
        ),
    ),
    "a webhook that is stopped while a try ends is stopped, and free": (
        1,
        True,
        lambda queue: [queue.record(500), queue.stop()],
        lambda queue, outcomes, stands: (stands.is_leased, stands.waiting) == (False, 1),
    ),
    "a webhook that is deleted while a try ends is gone": (
        1,
        True,
        lambda queue: [queue.record(200), queue.delete()],
        lambda queue, outcomes, stands: outcomes == [None, None] and stands.is_gone,
    ),
    "a webhook that is deleted while something is queued is gone": (
        0,
        False,
        lambda queue: [queue.enqueue(), queue.delete()],
        lambda queue, outcomes, stands: outcomes[0] in {0, 1} and stands.is_gone,
    ),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, int, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        profile = await registry.get("/auth/profile", headers=(await registry.developer()).headers)
        yield registry, profile.json()["id"], director


@pytest.mark.parametrize("name", PAIRS)
async def test_in_every_order_of_statements(name: str, stage: tuple[TestRegistry, int, Director]) -> None:
    registry, owner, director = stage
    waiting, under_way, sides, is_right = PAIRS[name]

    async def play(choose: Choose) -> None:
        queue = Queue(owner, registry.runtime.seal, waiting=waiting, under_way=under_way)
        await registry.database.transaction(queue.open)
        await registry.database.transaction(queue.begin)
        outcomes = await director.play(sides(queue), choose)
        stands = await registry.database.read(queue.stands)
        assert is_right(queue, outcomes, stands), (outcomes, stands)

    print(f"{name}: {await in_every_order(play)} orders")
