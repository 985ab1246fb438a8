"""Jobs are run at least once, by one process at a time, in the order in which they are due."""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.jobs import (
    GiveUp,
    Job,
    LeasedKind,
    PutOff,
    Retries,
    TransactionalKind,
    enqueue,
    forget_dead_jobs,
    run_jobs,
    store,
    sweep,
)
from hansa.foundation.plumbing.jobs.running import pause_after, run_leased
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.telemetry.metrics import jobs_fenced_total
from tests.operation.registry_process import until
from tests.registry import TestRegistry, at_once
from tests.running_jobs import jobs_of, run_due, time_passes, working

KIND = "test"
# Claims a job in a process of its own, and never ends it.
CLAIMING = f"""
import asyncio, sys
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.jobs import store

async def claim():
    database = Database(sys.argv[1], pool_size=1)
    await database.open()
    (job,) = await database.transaction(lambda tx: store.claim(tx, "{KIND}", 1, 30.0))
    print(job.key, flush=True)
    await asyncio.Event().wait()

asyncio.run(claim())
"""


@dataclass
class Work:
    """Leased work that notes its runs; it waits for `may_end` and raises `trouble`."""

    ran: list[str] = field(default_factory=list)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    trouble: Exception | None = None

    def __post_init__(self) -> None:
        self.may_end.set()

    async def __call__(self, _: Runtime, job: Job) -> None:
        self.ran.append(job.key)
        await self.may_end.wait()
        if self.trouble is not None:
            raise self.trouble

    def kind(self, **more: object) -> LeasedKind:
        return LeasedKind(KIND, self, **more)


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
async def another(registry: TestRegistry) -> AsyncIterator[Runtime]:
    """The runtime of another process on the same database."""
    database = Database(registry.database.dsn, pool_size=4)
    await database.open()
    yield replace(registry.runtime, database=database)
    await database.close()


async def add(registry: TestRegistry, *keys: str, kind: str = KIND, due_at: datetime | None = None) -> None:
    for key in keys:
        await registry.database.transaction(lambda tx, key=key: enqueue(tx, kind, key, {"of": key}, due_at))


async def test_jobs_run_in_the_order_in_which_they_are_due(registry: TestRegistry, work: Work):
    now = datetime.now(UTC)
    for key, minutes in (("third", -1), ("first", -3), ("second", -2), ("later", 60)):
        await add(registry, key, due_at=now + timedelta(minutes=minutes))
    for _ in range(3):
        (job,) = await registry.database.transaction(lambda tx: store.claim(tx, KIND, 1, 30.0))
        assert job.payload == {"of": job.key}
        await run_leased(registry.runtime, work.kind(), job)
    assert work.ran == ["first", "second", "third"]
    assert [row["key"] for row in await jobs_of(registry.runtime, KIND)] == ["later"]


async def test_a_job_is_enqueued_once_for_each_key_and_the_earlier_time_counts(registry: TestRegistry):
    now = datetime.now(UTC)
    for days in (2, 1, 3):
        await add(registry, "same", due_at=now + timedelta(days=days))
    (row,) = await jobs_of(registry.runtime, KIND)
    assert row["due_at"] == now + timedelta(days=1)


async def test_the_job_of_an_act_that_is_undone_never_runs(registry: TestRegistry, work: Work):
    async def fail(tx: Tx) -> None:
        await enqueue(tx, KIND, "undone")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await registry.database.transaction(fail)
    await run_due(registry.runtime, work.kind())
    assert work.ran == []


async def test_two_processes_never_run_one_job(registry: TestRegistry, another: Runtime, work: Work):
    keys = [f"job-{number}" for number in range(40)]
    kind = work.kind(at_once=4)
    async with working(registry.runtime, kind), working(another, kind):
        await at_once(*(add(registry, key) for key in keys))
        await until(lambda: len(work.ran) >= len(keys))
    assert sorted(work.ran) == sorted(keys)


async def test_the_job_of_a_killed_process_runs_after_its_lease(registry: TestRegistry, work: Work):
    await add(registry, "survivor")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLAIMING, registry.database.dsn, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"survivor\n"
    process.kill()
    await process.wait()
    await run_due(registry.runtime, work.kind())
    assert work.ran == []
    await time_passes(registry.runtime, 31)
    await run_due(registry.runtime, work.kind())
    assert work.ran == ["survivor"]
    assert await jobs_of(registry.runtime, KIND) == []


async def test_a_result_that_comes_after_the_lease_was_lost_is_refused(
    registry: TestRegistry, another: Runtime, work: Work
):
    await add(registry, "fenced")
    (late,) = await registry.database.transaction(lambda tx: store.claim(tx, KIND, 1, 30.0))
    await time_passes(registry.runtime, 31)
    (newer,) = await another.database.transaction(lambda tx: store.claim(tx, KIND, 1, 30.0))
    before = jobs_fenced_total.labels(KIND)._value.get()
    await run_leased(registry.runtime, work.kind(), late)
    assert jobs_fenced_total.labels(KIND)._value.get() == before + 1
    for refused in (
        lambda tx: store.put_off(tx, late, 1.0, "late"),
        lambda tx: store.bury(tx, late, "late"),
        lambda tx: store.renew(tx, late, 30.0),
        lambda tx: store.release(tx, late),
    ):
        assert not await registry.database.transaction(refused)
    assert await another.database.transaction(lambda tx: store.finish(tx, newer, None))
    assert not await another.database.transaction(lambda tx: store.finish(tx, newer, None))


async def test_work_whose_lease_is_lost_is_cancelled(registry: TestRegistry, work: Work):
    await add(registry, "lost")
    work.may_end.clear()
    async with working(registry.runtime, work.kind(lease_seconds=0.3)):
        await until(lambda: work.ran)
        before = jobs_fenced_total.labels(KIND)._value.get()
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE plumbing_job SET fencing_token = fencing_token + 1")
        )
        await until(lambda: jobs_fenced_total.labels(KIND)._value.get() == before + 1)


async def test_a_lease_is_renewed_while_the_work_lasts(registry: TestRegistry, work: Work):
    await add(registry, "long")
    work.may_end.clear()
    async with working(registry.runtime, work.kind(lease_seconds=0.3)):
        await until(lambda: work.ran)
        (first,) = await jobs_of(registry.runtime, KIND)
        async with asyncio.timeout(30):
            while (await jobs_of(registry.runtime, KIND))[0]["lease_until"] <= first["lease_until"]:
                pass
        work.may_end.set()
        async with asyncio.timeout(30):
            while await jobs_of(registry.runtime, KIND):
                pass
    assert work.ran == ["long"]


async def test_what_is_enqueued_while_the_job_runs_makes_it_run_once_more(registry: TestRegistry, work: Work):
    await add(registry, "again")
    (job,) = await registry.database.transaction(lambda tx: store.claim(tx, KIND, 1, 30.0))
    await add(registry, "again")
    await run_leased(registry.runtime, work.kind(), job)
    await run_due(registry.runtime, work.kind())
    assert work.ran == ["again", "again"]
    assert await jobs_of(registry.runtime, KIND) == []


async def test_a_job_that_fails_is_retried_after_growing_pauses_and_then_dead(
    registry: TestRegistry, work: Work
):
    await add(registry, "failing")
    work.trouble = PutOff("the host did not answer")
    kind = work.kind(retries=Retries(attempts_max=3, pause_seconds=60))
    for attempts, pause in ((1, 60), (2, 120)):
        await run_due(registry.runtime, kind)
        (row,) = await jobs_of(registry.runtime, KIND)
        assert (row["state"], row["attempts"], row["last_error"]) == (
            "waiting",
            attempts,
            "the host did not answer",
        )
        assert abs((row["due_at"] - datetime.now(UTC)).total_seconds() - pause) < pause * 0.1 + 10
        await time_passes(registry.runtime, pause * 1.2)
    await run_due(registry.runtime, kind)
    (row,) = await jobs_of(registry.runtime, KIND)
    assert (row["state"], row["attempts"]) == ("dead", 3)
    await run_due(registry.runtime, kind)
    assert len(work.ran) == 3


async def test_work_that_gives_up_makes_its_job_dead_at_once_and_enqueued_anew_it_begins_afresh(
    registry: TestRegistry, work: Work
):
    await add(registry, "hopeless")
    work.trouble = GiveUp("the receiver is gone")
    await run_due(registry.runtime, work.kind())
    (row,) = await jobs_of(registry.runtime, KIND)
    assert (row["state"], row["last_error"]) == ("dead", "the receiver is gone")
    work.trouble = None
    await add(registry, "hopeless")
    await run_due(registry.runtime, work.kind())
    assert await jobs_of(registry.runtime, KIND) == []


async def test_an_unexpected_error_is_kept_by_its_class_alone(registry: TestRegistry, work: Work):
    await add(registry, "broken")
    work.trouble = ValueError("somebody@example.org")
    await run_due(registry.runtime, work.kind())
    (row,) = await jobs_of(registry.runtime, KIND)
    assert row["last_error"] == "ValueError"
    assert [job.name for job in registry.runtime.jobs.failing()] == [KIND]


async def test_dead_jobs_are_deleted_after_a_month(registry: TestRegistry, work: Work):
    work.trouble = GiveUp("no")
    await add(registry, "old", "new")
    await run_due(registry.runtime, work.kind())
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE plumbing_job SET dead_at = now() - interval '31 days' WHERE key = 'old'"
        )
    )
    await registry.database.transaction(forget_dead_jobs)
    assert [row["key"] for row in await jobs_of(registry.runtime, KIND)] == ["new"]


async def test_a_worker_that_waits_starts_a_new_job_when_it_is_committed(
    registry: TestRegistry, work: Work, monkeypatch: pytest.MonkeyPatch
):
    """Without a notification it would look again after a minute."""
    monkeypatch.setattr("hansa.foundation.plumbing.jobs.worker.LOOK_AGAIN_SECONDS", 60.0)
    async with working(registry.runtime, work.kind()):
        await add(registry, "first")
        await until(lambda: work.ran == ["first"])
        begun = monotonic()
        await add(registry, "second")
        await until(lambda: work.ran == ["first", "second"])
        assert monotonic() - begun < 30


async def test_a_process_that_ends_lets_its_jobs_end(registry: TestRegistry, work: Work):
    await add(registry, "draining")
    work.may_end.clear()
    task = asyncio.create_task(run_jobs(registry.runtime, [work.kind()]))
    await until(lambda: work.ran)
    task.cancel()
    await add(registry, "for another process")
    work.may_end.set()
    await asyncio.wait([task])
    assert [row["key"] for row in await jobs_of(registry.runtime, KIND)] == ["for another process"]


async def test_a_job_that_does_not_end_in_time_is_given_back(
    registry: TestRegistry, work: Work, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.foundation.plumbing.jobs.worker.DRAIN_SECONDS", 0.01)
    await add(registry, "endless")
    work.may_end.clear()
    async with working(registry.runtime, work.kind()):
        await until(lambda: work.ran)
    (row,) = await jobs_of(registry.runtime, KIND)
    assert (row["attempts"], row["lease_until"]) == (0, None)


async def test_transactional_work_commits_with_its_result_or_not_at_all(registry: TestRegistry):
    async def write_and_fail(tx: Tx, _: Runtime, job: Job) -> None:
        await enqueue(tx, "written", job.key)
        if job.attempts == 1:
            raise PutOff("not yet")

    kind = TransactionalKind(KIND, write_and_fail)
    await add(registry, "whole")
    await run_due(registry.runtime, kind)
    assert await jobs_of(registry.runtime, "written") == []
    await time_passes(registry.runtime, 10)
    await run_due(registry.runtime, kind)
    assert len(await jobs_of(registry.runtime, "written")) == 1
    assert await jobs_of(registry.runtime, KIND) == []


async def test_scheduled_work_runs_in_one_process_at_a_time_again_and_again(
    registry: TestRegistry, another: Runtime
):
    inside, most_inside, runs = 0, 0, 0

    async def count(tx: Tx) -> None:
        nonlocal inside, most_inside, runs
        inside += 1
        most_inside = max(most_inside, inside)
        await tx.execute("SELECT pg_sleep(0.01)")
        inside -= 1
        runs += 1

    kind = sweep(KIND, 0.01, count)
    async with working(registry.runtime, kind), working(another, kind):
        await until(lambda: runs >= 5)
    assert most_inside == 1
    assert len(await jobs_of(registry.runtime, KIND)) == 1


def test_pauses_double_up_to_a_limit_give_or_take_a_tenth():
    retries = Retries(pause_seconds=1, pause_max_seconds=300)
    assert [pause_after(retries, attempts, 0) for attempts in (1, 2, 3, 9, 10, 5000)] == [
        1,
        2,
        4,
        256,
        300,
        300,
    ]
    assert [pause_after(retries, 3, jitter) for jitter in (-1, 1)] == pytest.approx([3.6, 4.4])
