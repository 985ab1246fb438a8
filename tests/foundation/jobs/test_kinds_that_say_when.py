"""A kind that names its own times runs within milliseconds of a notification, and survives a job that fails for good."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.jobs import (
    Job,
    LeasedKind,
    NewJob,
    Question,
    Retries,
    TransactionalKind,
    enqueue_many,
    scheduled,
    sweep_of,
)
from hansa.foundation.plumbing.jobs.polls import BUSY_PACE_SECONDS, PACE_SECONDS, Poll
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.batch_loader import ask
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import jobs_due
from tests.operation.registry_process import until
from tests.registry import TestRegistry
from tests.running_jobs import jobs_of, working

KIND, CHANNEL = "says when", "test_of_work"


@dataclass
class Queue:
    """Numbers in a table, taken one at a time; a negative one fails."""

    set_aside: list[tuple[int, str]] = field(default_factory=list)
    asked: int = 0

    def kind(self) -> TransactionalKind:
        retries = Retries(attempts_max=3, pause_seconds=0.01, pause_max_seconds=0.01)
        return TransactionalKind(
            KIND,
            self.work,
            retries=retries,
            every_seconds=60,
            has_work=self.has_work,
            channel=CHANNEL,
            exhausted=self.exhausted,
        )

    async def has_work(self, tx: Tx) -> bool:
        self.asked += 1
        return bool(await tx.fetchval("SELECT EXISTS (SELECT FROM waiting)"))

    async def work(self, tx: Tx, _: Runtime, __: Job) -> None:
        number = await self._take(tx)
        if number < 0:
            raise ArithmeticError
        await tx.execute("INSERT INTO done (number) VALUES ($1)", number)

    async def exhausted(self, tx: Tx, job: Job, error: Exception) -> None:
        self.set_aside.append((await self._take(tx), f"{type(error).__name__} {job.attempts}"))

    async def _take(self, tx: Tx) -> int:
        row = "DELETE FROM waiting WHERE id = (SELECT min(id) FROM waiting) RETURNING number"
        return int(await tx.fetchval(row))


@asynccontextmanager
async def running(registry: TestRegistry, queue: Queue, processes: int = 1) -> AsyncIterator[None]:
    await registry.database.transaction(_prepare)
    async with working(registry.runtime, queue.kind()):
        if processes == 1:
            yield
            return
        async with working(registry.runtime, queue.kind()):
            yield


async def _prepare(tx: Tx) -> None:
    await tx.execute("CREATE TABLE waiting (id int GENERATED ALWAYS AS IDENTITY, number int NOT NULL)")
    await tx.execute("CREATE TABLE done (id int GENERATED ALWAYS AS IDENTITY, number int NOT NULL)")


async def add(registry: TestRegistry, *numbers: int) -> None:
    async def write(tx: Tx) -> None:
        await tx.execute("INSERT INTO waiting (number) SELECT unnest($1::int[])", numbers)
        await tx.execute("SELECT pg_notify($1, '')", CHANNEL)

    await registry.database.transaction(write)


async def done(registry: TestRegistry) -> list[int]:
    rows = await registry.database.query(lambda tx: tx.fetch("SELECT number FROM done ORDER BY id"))
    return [row["number"] for row in rows]


async def test_it_runs_soon_after_a_notification_in_order_and_each_once(registry: TestRegistry):
    queue = Queue()
    async with running(registry, queue, processes=2):
        await until(lambda: queue.asked >= 2)
        began = monotonic()
        await add(registry, *range(30))
        while len(await done(registry)) < 30:
            assert monotonic() - began < 20, "it is asked every minute without a notification"
        assert await done(registry) == list(range(30))
    assert jobs_due.labels(KIND)._value.get() == 0, "its job is always due, and counts as none"


async def test_a_job_that_waited_for_the_place_of_such_a_kind_starts_when_that_ends(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    has_begun, may_end, others = asyncio.Event(), asyncio.Event(), list[float]()

    class Slow(Queue):
        async def work(self, tx: Tx, runtime: Runtime, job: Job) -> None:
            await super().work(tx, runtime, job)
            has_begun.set()
            await may_end.wait()

    async def other(_: Runtime, __: Job) -> None:
        others.append(monotonic())

    slow = Slow()
    async with running(registry, slow):
        # Its job is due from now on, before the other one.
        await until(lambda: slow.asked)
    await registry.database.transaction(lambda tx: enqueue_many(tx, "other", [NewJob("a")]))
    await add(registry, 1)
    monkeypatch.setattr("hansa.foundation.plumbing.jobs.worker.AT_ONCE", 1)
    monkeypatch.setattr("hansa.foundation.plumbing.jobs.worker.LOOK_AGAIN_SECONDS", 60.0)
    async with working(registry.runtime, slow.kind(), LeasedKind("other", other)) as worker:
        await has_begun.wait()
        assert not others
        ended_at = monotonic()
        may_end.set()
        await until(lambda: others or worker.done())
    assert others[0] - ended_at < 30, "it would look again after a minute"


async def test_what_fails_in_every_attempt_is_handed_over_and_the_rest_goes_on(registry: TestRegistry):
    queue = Queue()
    async with running(registry, queue):
        await add(registry, 1, -1, 2)
        while len(await done(registry)) < 2:
            pass
    assert await done(registry) == [1, 2]
    assert queue.set_aside == [(-1, "ArithmeticError 3")]
    (row,) = await jobs_of(registry.runtime, KIND)
    assert (row["state"], row["attempts"], row["last_error"]) == ("waiting", 0, None)


@pytest.mark.parametrize("notifications", [1, 50])
def test_it_is_asked_at_once_after_a_quiet_time_and_no_more_than_ten_times_a_second(notifications: int):
    poll = Poll(60.0)
    poll.looked(100.0, is_found=False, pause=0.0)
    assert poll.at > 100.0 + PACE_SECONDS
    sooner = [poll.hasten(100.01) for _ in range(notifications)]
    assert sooner.count(True) == 1
    assert poll.at == 100.0 + PACE_SECONDS
    poll.looked(200.0, is_found=False, pause=0.0)
    poll.looked(300.0, is_found=False, pause=0.0)
    assert poll.hasten(300.3)
    assert poll.at == 300.3


def test_while_it_has_work_or_is_notified_each_time_it_is_asked_less_often_and_after_a_quiet_time_at_once():
    poll, now, pauses = Poll(60.0), 100.0, list[float]()
    for _ in range(4):
        poll.looked(now, is_found=True, pause=0.0)
        pauses.append(poll.at - now)
        now = poll.at
    assert pauses == pytest.approx([PACE_SECONDS, 2 * PACE_SECONDS, BUSY_PACE_SECONDS, BUSY_PACE_SECONDS])
    poll.looked(now, is_found=False, pause=0.0)
    assert poll.hasten(now + 0.01)
    assert poll.at == now + PACE_SECONDS
    poll.looked(now := poll.at, is_found=False, pause=0.0)
    poll.hasten(now + 0.01)
    assert poll.at == now + 2 * PACE_SECONDS, "it was notified again, of nothing"
    poll.looked(now := poll.at, is_found=False, pause=0.0)
    poll.looked(now := poll.at, is_found=False, pause=0.0)
    assert poll.hasten(now + 0.5)
    assert poll.at == now + 0.5


async def test_it_is_not_asked_again_after_work_that_says_that_it_is_done(registry: TestRegistry):
    queue = Queue()

    async def take_all(tx: Tx, _: Runtime, __: Job) -> bool:
        await tx.execute(
            "WITH taken AS (DELETE FROM waiting RETURNING number) INSERT INTO done (number) TABLE taken"
        )
        return False

    await registry.database.transaction(_prepare)
    kind = replace(queue.kind(), work=take_all)
    async with working(registry.runtime, kind):
        await until(lambda: queue.asked >= 2)
        asked, count = queue.asked, 0
        for _ in range(3):
            await add(registry, 1)
            count += 1
            while len(await done(registry)) < count:
                pass
        # For each once with work and at most once without: a run is not followed by a question of its own.
        assert queue.asked - asked <= 2 * count


def test_without_work_it_is_asked_less_and_less_and_after_a_failure_not_before_its_pause():
    poll = Poll(1.0)
    pauses = []
    for _ in range(6):
        poll.looked(0.0, is_found=False, pause=0.0)
        pauses.append(poll.at)
    assert pauses == [0.2, 0.4, 0.8, 1.0, 1.0, 1.0]
    poll.looked(0.0, is_found=False, pause=30.0)
    assert poll.at == 30.0


async def test_a_sweep_of_nothing_writes_nothing_and_one_of_much_goes_on_at_once(registry: TestRegistry):
    queue = Queue()

    async def take(tx: Tx) -> None:
        await tx.execute("INSERT INTO done (number) VALUES ($1)", await queue._take(tx))

    await registry.database.transaction(_prepare)
    kind = sweep_of("sweep of numbers", 0.2, queue.has_work, take)
    async with working(registry.runtime, kind):
        await until(lambda: queue.asked >= 3)
        (row,) = await jobs_of(registry.runtime, kind.name)
        assert row["fencing_token"] == 0, "an attempt would have raised it"
        began = monotonic()
        await add(registry, *range(10))
        while len(await done(registry)) < 10:
            assert monotonic() - began < 20
    assert await done(registry) == list(range(10))


async def test_a_sweep_whose_jobs_end_later_runs_once_a_turn(registry: TestRegistry):
    queue, ran_at = Queue(), list[float]()

    async def enqueue(_: Tx) -> None:
        ran_at.append(monotonic())

    await registry.database.transaction(_prepare)
    await add(registry, 1)
    kind = sweep_of("sweep of what waits", 0.5, queue.has_work, enqueue, once_a_turn=True)
    async with working(registry.runtime, kind):
        await until(lambda: len(ran_at) >= 4)
    assert ran_at[3] - ran_at[0] > 0.9, "three intervals, the first of which may be short"


async def test_scheduled_work_of_nothing_is_not_claimed_and_of_something_it_is(registry: TestRegistry):
    queue = Queue()

    async def take(runtime: Runtime) -> None:
        await runtime.database.transaction(queue._take)

    await registry.database.transaction(_prepare)
    kind = scheduled("scheduled numbers", 0.2, take, queue.has_work)
    async with working(registry.runtime, kind):
        await until(lambda: queue.asked >= 3)
        (row,) = await jobs_of(registry.runtime, kind.name)
        assert row["fencing_token"] == 0, "a claim would have raised it"
        await add(registry, 1, 2)
        async with asyncio.timeout(20):
            while await registry.database.query(queue.has_work):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_questions_of_one_turn_are_one_statement_and_each_gets_its_answer(registry: TestRegistry):
    questions = {
        "above": Question("SELECT 2 > 1"),
        "none": Question("SELECT count(*) > 0 FROM plumbing_job WHERE kind = 'no such kind'"),
        "null": Question("SELECT NULL::boolean"),
        "below": Question("SELECT 1 < 2"),
    }
    statements = list[str]()

    class Counting:
        """A transaction that lists its statements."""

        def __init__(self, tx: Tx) -> None:
            self._tx = tx

        def __getattr__(self, name: str) -> object:
            async def run(statement: str, *parameters: object) -> object:
                statements.append(statement)
                return await getattr(self._tx, name)(statement, *parameters)

            return run

    together = await registry.database.query(lambda tx: ask(Counting(tx), questions))
    assert together == {"above": True, "none": False, "null": False, "below": True}
    assert len(statements) == 1
    for name, question in questions.items():
        assert await registry.database.query(question) is together[name]


async def test_a_question_that_fails_leaves_the_others_their_work(registry: TestRegistry):
    taken = list[int]()

    async def take(tx: Tx) -> None:
        taken.append(await tx.fetchval("DELETE FROM waiting RETURNING number"))

    async def never(_: Tx) -> None:
        raise AssertionError("it has no work")

    await registry.database.transaction(_prepare)
    broken = sweep_of(
        "asks for a table that is not there", 0.2, Question("SELECT EXISTS (SELECT FROM absent)"), never
    )
    sound = sweep_of("asks for numbers", 0.2, Question("SELECT EXISTS (SELECT FROM waiting)"), take)
    async with working(registry.runtime, broken, sound):
        await until(lambda: [job.name for job in registry.runtime.jobs.failing()] == [broken.name])
        await add(registry, 7)
        await until(lambda: taken == [7])
    assert [job.name for job in registry.runtime.jobs.failing()] == [broken.name]


async def test_work_that_was_put_off_is_not_asked_about_again_and_again(registry: TestRegistry):
    attempts, queue = list[float](), Queue()

    async def fail(_: Tx) -> None:
        attempts.append(monotonic())
        raise ArithmeticError

    await registry.database.transaction(_prepare)
    await add(registry, 1)
    kind = sweep_of("fails", 0.3, queue.has_work, fail)
    async with working(registry.runtime, kind):
        await until(lambda: len(attempts) >= 4)
    assert attempts[3] - attempts[0] > 0.7, "each pause is an interval, give or take a tenth"
    assert queue.asked <= 3 * len(attempts)


def test_kinds_that_rest_are_asked_in_one_turn():
    one, other = Poll(5.0, 5.0), Poll(5.0, 5.0)
    one.looked(101.0, is_found=False, pause=0.0)
    other.looked(103.5, is_found=False, pause=0.0)
    assert one.at == other.at == 105.0
    one.looked(105.0, is_found=False, pause=7.0)
    assert one.at >= 112.0, "after a failure it is left alone"
