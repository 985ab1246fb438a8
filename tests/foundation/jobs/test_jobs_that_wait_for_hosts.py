"""Kinds that call many hosts: slow calls leave their place to others, jobs of low priority come last, settings switch kinds off."""

import asyncio
from datetime import UTC, datetime, timedelta

from hansa.foundation.plumbing.jobs import (
    Job,
    LeasedKind,
    NewJob,
    conclude,
    enqueue_many,
    low_priority_due,
    worker,
)
from hansa.foundation.plumbing.jobs.running import claim
from hansa.foundation.plumbing.process.runtime import Runtime
from tests.operation.registry_process import until
from tests.registry import TestRegistry
from tests.running_jobs import jobs_of, run_due, working

KIND = "calls"


class Calls:
    """Work that ends when `may_end` is set, and notes which jobs were started."""

    def __init__(self) -> None:
        self.started: set[str] = set()
        self.may_end = asyncio.Event()

    async def __call__(self, _: Runtime, job: Job) -> None:
        self.started.add(job.key)
        await self.may_end.wait()


async def add(registry: TestRegistry, *jobs: NewJob) -> None:
    await registry.database.transaction(lambda tx: enqueue_many(tx, KIND, jobs))


async def test_jobs_that_wait_leave_their_place_to_others(registry: TestRegistry, monkeypatch):
    calls = Calls()
    beginnings: list[float] = []

    class NotedRun(worker._Run, frozen=True):
        def __post_init__(self) -> None:
            if self.kind is kind:
                beginnings.append(self.began)

    monkeypatch.setattr(worker, "_Run", NotedRun)
    kind = LeasedKind(KIND, calls, at_once=8, started_at_once=2)
    await add(registry, *(NewJob(str(number)) for number in range(10)))
    async with working(registry.runtime, kind):
        await until(lambda: len(calls.started) == 8)
        calls.may_end.set()
        await until(lambda: len(calls.started) == 10)
    # The first eight: the last two were started when places became free.
    assert len(beginnings) == 10
    assert all(
        later - earlier >= worker.START_SECONDS
        for earlier, later in zip(beginnings, beginnings[2:8], strict=False)
    )
    assert await jobs_of(registry.runtime, KIND) == []


async def test_waiting_jobs_take_no_place_of_other_kinds(registry: TestRegistry, monkeypatch):
    monkeypatch.setattr("hansa.foundation.plumbing.jobs.worker.AT_ONCE", 2)
    calls, others = Calls(), Calls()
    others.may_end.set()
    await add(registry, *(NewJob(str(number)) for number in range(2)))
    kind = LeasedKind(KIND, calls, at_once=8, started_at_once=2)
    async with working(registry.runtime, kind, LeasedKind("other", others)):
        await until(lambda: len(calls.started) == 2)
        await registry.database.transaction(lambda tx: enqueue_many(tx, "other", [NewJob("a")]))
        await until(lambda: others.started)
        calls.may_end.set()


async def test_jobs_of_low_priority_are_claimed_when_no_other_is_due(registry: TestRegistry):
    now = datetime.now(UTC)
    kind = LeasedKind(KIND, Calls())
    await add(
        registry,
        NewJob("low", now - timedelta(hours=2), low_priority=True),
        NewJob("high", now - timedelta(hours=1)),
    )
    assert [job.key for job in await claim(registry.runtime, kind, 1)] == ["high"]
    assert [job.key for job in await claim(registry.runtime, kind, 1)] == ["low"]


async def test_a_job_gets_its_next_priority_when_it_ends(registry: TestRegistry):
    kind = LeasedKind(KIND, Calls())
    later = datetime.now(UTC) + timedelta(days=1)
    await add(registry, NewJob("one"))
    for low_priority in (True, False):
        (job,) = await claim(registry.runtime, kind, 5)
        assert await registry.database.transaction(
            lambda tx, job=job, low=low_priority: conclude(tx, job, due_at=later, low_priority=low)
        )
        due = await registry.database.query(lambda tx: low_priority_due(tx, KIND, 5))
        assert due == ({"one": later} if low_priority else {})
        await registry.database.transaction(lambda tx: tx.execute("UPDATE plumbing_job SET due_at = now()"))


async def test_jobs_of_a_kind_that_the_settings_switch_off_stay_as_they_are(registry: TestRegistry):
    calls, others = Calls(), Calls()
    others.may_end.set()
    await add(registry, NewJob("one"))
    await registry.database.transaction(lambda tx: enqueue_many(tx, "other", [NewJob("a")]))
    off = LeasedKind(KIND, calls, is_enabled=lambda _: False)
    async with working(registry.runtime, off, LeasedKind("other", others)):
        await until(lambda: others.started)
    assert await run_due(registry.runtime, off) == 0
    assert calls.started == set()
    (row,) = await jobs_of(registry.runtime, KIND)
    assert (row["attempts"], row["lease_until"]) == (0, None)
