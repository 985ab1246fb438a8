"""Jobs of a kind with the same concurrency key run one at a time, among all processes."""

import asyncio
from collections import Counter

from hansa.foundation.plumbing.jobs import Job, LeasedKind, NewJob, conclude, enqueue_many, is_held, withdraw
from hansa.foundation.plumbing.jobs.running import claim
from hansa.foundation.plumbing.process.runtime import Runtime
from tests.operation.registry_process import until
from tests.registry import TestRegistry, at_once
from tests.running_jobs import jobs_of, time_passes, working

KEYS = ("a", "a", "a", "b", "b", "c", None, None)


class Work:
    """Leased work that ends its job itself, and notes how many of each key ran at a moment."""

    def __init__(self, most: int) -> None:
        self.kind = LeasedKind("keyed", self, at_once=most, concludes=True)
        self.ran: list[str] = []
        self.most: Counter[str] = Counter()
        self._running: Counter[str] = Counter()

    async def __call__(self, runtime: Runtime, job: Job) -> None:
        group = job.key.partition("-")[0]
        self._running[group] += 1
        self.most[group] = max(self.most[group], self._running[group])
        await asyncio.sleep(0.02)
        self._running[group] -= 1
        self.ran.append(job.key)
        assert await runtime.database.transaction(lambda tx: conclude(tx, job))


async def add(registry: TestRegistry, *keys: str | None) -> None:
    jobs = [NewJob(f"{key}-{number}", None, key) for number, key in enumerate(keys)]
    await registry.database.transaction(lambda tx: enqueue_many(tx, "keyed", jobs))


async def test_two_processes_never_run_two_jobs_of_one_key(registry: TestRegistry):
    await add(registry, *KEYS * 3)
    work = Work(4)
    async with working(registry.runtime, work.kind), working(registry.runtime, work.kind):
        await until(lambda: len(work.ran) == 3 * len(KEYS))
    assert len(set(work.ran)) == 3 * len(KEYS)
    assert {key: work.most[key] for key in "abc"} == {"a": 1, "b": 1, "c": 1}
    assert work.most["None"] > 1


async def test_claims_at_the_same_moment_get_one_job_of_each_key(registry: TestRegistry):
    kind = Work(8).kind
    for _ in range(5):
        await add(registry, *KEYS)
        claims = await at_once(*(claim(registry.runtime, kind, 8) for _ in range(4)))
        groups = Counter(job.key.partition("-")[0] for claimed in claims for job in claimed)
        assert groups == {"a": 1, "b": 1, "c": 1, "None": 2}
        await registry.database.transaction(lambda tx: withdraw(tx, "keyed"))


async def test_a_key_stays_taken_until_the_job_of_a_dead_process_has_run_again(registry: TestRegistry):
    kind = Work(8).kind
    await add(registry, "a", "a")
    (lost,) = await claim(registry.runtime, kind, 8)
    assert await claim(registry.runtime, kind, 8) == []
    await time_passes(registry.runtime, kind.lease_seconds + 1)
    (again,) = await claim(registry.runtime, kind, 8)
    assert again.key == lost.key

    async def ends(job: Job) -> bool:
        return await registry.database.transaction(lambda tx: conclude(tx, job))

    assert not await registry.database.transaction(lambda tx: is_held(tx, lost))
    assert (await ends(lost), await ends(again), await ends(again)) == (False, True, False)
    (other,) = await claim(registry.runtime, kind, 8)
    assert other.key != lost.key


async def test_a_job_that_moves_to_another_key_while_it_runs_gets_it_afterwards(registry: TestRegistry):
    kind = Work(8).kind
    await add(registry, "a", "b")
    first, _ = await claim(registry.runtime, kind, 8)
    await registry.database.transaction(lambda tx: enqueue_many(tx, "keyed", [NewJob(first.key, None, "b")]))
    rows = {row["key"]: row for row in await jobs_of(registry.runtime, "keyed")}
    assert rows[first.key]["concurrency_key"] == "a"
    due_at = rows[first.key]["due_again_at"]
    await registry.database.transaction(lambda tx: conclude(tx, first, due_at=due_at, concurrency_key="b"))
    assert await claim(registry.runtime, kind, 8) == [], "b is taken by the other one"


async def test_the_result_of_a_job_that_was_withdrawn_is_refused(registry: TestRegistry):
    kind = Work(8).kind
    await add(registry, "a", "b")
    first, second = await claim(registry.runtime, kind, 8)
    await registry.database.transaction(lambda tx: withdraw(tx, "keyed", [first.key]))
    assert not await registry.database.transaction(lambda tx: conclude(tx, first))
    assert await registry.database.transaction(lambda tx: conclude(tx, second))
