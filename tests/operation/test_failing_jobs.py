"""A background job that fails is named by /readyz and in the metrics, tries less and less often, and logs once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from hansa.foundation.events import TokensIssued
from hansa.foundation.plumbing.jobs import run_jobs, scheduled, sweep
from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask, run_periodic_tasks
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry import job_health
from hansa.foundation.plumbing.telemetry.job_health import JobHealth, pause_after
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import journal
from hansa.rooms.catalogue.search import SEARCHER
from hansa.rooms.journal.feed import LIVE_FEED
from tests.operation.registry_process import until
from tests.registry import TestRegistry
from tests.rooms.journal.reactors.reacting import reacting

NAME = "test: may fail"
TRIES = 6


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_health, "FIRST_PAUSE_SECONDS", 0.001)


class Work:
    """Work that fails until it is mended."""

    def __init__(self) -> None:
        self.tries = 0
        self.successes = 0
        self.error: Exception | None = ZeroDivisionError("a value")

    async def __call__(self, _: object) -> None:
        self.tries += 1
        if self.error is not None:
            raise self.error
        self.successes += 1


@asynccontextmanager
async def running(job: Awaitable[None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(job)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def sweeping(registry: TestRegistry, work: Work) -> Awaitable[None]:
    return run_jobs(registry.runtime, [sweep(NAME, 0.001, work)])


def on_a_schedule(registry: TestRegistry, work: Work) -> Awaitable[None]:
    return run_jobs(registry.runtime, [scheduled(NAME, 0.001, work)])


def going_round(registry: TestRegistry, work: Work) -> Awaitable[None]:
    return run_periodic_tasks(registry.runtime, [PeriodicTask(NAME, 0.001, work)])


async def readiness(registry: TestRegistry) -> dict[str, Any]:
    answer = await registry.http.get("/readyz")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("run", [sweeping, on_a_schedule, going_round])
async def test_readyz_names_a_job_that_fails_until_it_succeeds_again(
    registry: TestRegistry, run: Callable[[TestRegistry, Work], Awaitable[None]]
):
    work = Work()
    assert (await readiness(registry))["failing_jobs"] == []
    with capture_logs() as logs:
        async with running(run(registry, work)):
            await until(lambda: work.tries >= TRIES)
            [failing] = (await readiness(registry))["failing_jobs"]
            assert (failing["name"], failing["error"]) == (NAME, "ZeroDivisionError")
            assert failing["failures"] >= TRIES - 1
            assert f'hansa_job_failing{{job="{NAME}"}} 1.0' in (await registry.http.get("/metrics")).text
            work.error = None
            await until(lambda: work.successes >= 2)
            assert (await readiness(registry))["failing_jobs"] == []
            assert f'hansa_job_failing{{job="{NAME}"}} 0.0' in (await registry.http.get("/metrics")).text
    said = [line["event"] for line in logs if line.get("job") == NAME]
    assert said == ["job failed; its next failures of this kind are not logged", "job recovered"]


async def test_a_job_that_waits_for_the_database_says_so_once_and_keeps_its_interval(registry: TestRegistry):
    work, health = Work(), JobHealth()
    work.error = Unavailable(retry_after=1)
    with capture_logs() as logs:
        pauses = [await health.attempt(NAME, lambda: work(None)) for _ in range(TRIES)]
    assert pauses == [0.0] * TRIES
    assert [line["event"] for line in logs] == ["job waits for the database"]


async def test_rare_work_that_met_no_database_is_tried_again_soon_and_then_as_rarely_as_before(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(job_health, "DATABASE_AWAY_SECONDS", 0.01)
    work = Work()
    work.error = Unavailable(retry_after=1)
    health = registry.runtime.jobs
    assert health.interval(NAME, 3600.0) == 3600.0
    await health.attempt(NAME, lambda: work(None))
    rare = PeriodicTask(NAME, 3600.0, work)
    async with running(run_periodic_tasks(registry.runtime, [rare])):
        await until(lambda: work.tries >= TRIES)
        work.error = None
        await until(lambda: work.successes == 1)
        assert (await readiness(registry))["failing_jobs"] == []
    assert health.interval(NAME, 3600.0) == 3600.0
    assert work.successes == 1


async def test_a_job_that_fails_for_another_reason_says_so(registry: TestRegistry):
    health = JobHealth()
    with capture_logs() as logs:
        for error in (ValueError(), ValueError(), KeyError(), KeyError(), ValueError()):
            health.failed(NAME, error)
    assert len(logs) == 3
    assert [job.failures for job in health.failing()] == [5]


def test_pauses_double_up_to_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_health, "FIRST_PAUSE_SECONDS", 1.0)
    assert [pause_after(failures) for failures in (1, 2, 3, 9, 10, 5000)] == [1, 2, 4, 256, 300, 300]


async def test_a_turn_that_another_process_has_is_no_success(registry: TestRegistry):
    health = JobHealth()
    health.failed(NAME, ValueError())

    async def nothing_to_try() -> bool:
        return False

    await health.attempt(NAME, nothing_to_try)
    assert [job.name for job in health.failing()] == [NAME]


async def test_a_reactor_that_cannot_read_its_place_fails_like_any_job(registry: TestRegistry):
    async def react(tx: Tx, event: journal.StoredEvent) -> None: ...

    reactor = journal.Reactor("test: reacts", (TokensIssued,), react)
    jobs = registry.runtime.jobs
    with capture_logs() as logs:
        async with reacting(registry.database, reactor, health=jobs):
            await registry.database.transaction(
                lambda tx: tx.execute("ALTER TABLE journal_reactor RENAME TO journal_reactor_gone")
            )
            await until(lambda: [job.failures for job in jobs.failing()] > [TRIES])
            [failing] = (await readiness(registry))["failing_jobs"]
            assert failing["name"] == "reactor: test: reacts"
            await registry.database.transaction(
                lambda tx: tx.execute("ALTER TABLE journal_reactor_gone RENAME TO journal_reactor")
            )
            await until(lambda: not jobs.failing())
    assert len([line for line in logs if line.get("job") == failing["name"]]) == 2


async def test_a_reactor_that_waits_for_an_event_that_fails_is_named_meanwhile(registry: TestRegistry):
    mended = asyncio.Event()

    async def react(tx: Tx, event: journal.StoredEvent) -> None:
        if not mended.is_set():
            raise ZeroDivisionError

    reactor = journal.Reactor("test: reacts", (TokensIssued,), react, from_the_start=True)
    jobs = registry.runtime.jobs
    with capture_logs() as logs:
        async with reacting(registry.database, reactor, health=jobs):
            await until(lambda: [job.failures for job in jobs.failing()] >= [2])
            [failing] = (await readiness(registry))["failing_jobs"]
            assert failing["error"] == "ZeroDivisionError"
            mended.set()
            await until(lambda: not jobs.failing())
    [_, recovered] = [line for line in logs if line.get("job") == failing["name"]]
    assert recovered["event"] == "job recovered"
    [failed] = [line for line in logs if line["event"] == "reaction failed, will retry"]
    assert (failed["reactor"], failed["event_type"]) == ("test: reacts", "TokensIssued")


@asynccontextmanager
async def renamed(registry: TestRegistry, table: str) -> AsyncIterator[None]:
    """Meanwhile the table cannot be read."""
    rename = "ALTER TABLE {} RENAME TO {}"
    await registry.database.transaction(lambda tx: tx.execute(rename.format(table, f"{table}_gone")))
    yield
    await registry.database.transaction(lambda tx: tx.execute(rename.format(f"{table}_gone", table)))


async def fail_while_away(registry: TestRegistry, table: str, name: str) -> None:
    """While the table is away the job fails again and again, is named by /readyz, and is logged twice in all."""
    jobs = registry.runtime.jobs
    with capture_logs() as logs:
        async with renamed(registry, table):
            await until(lambda: [job.failures for job in jobs.failing()] >= [TRIES])
            [failing] = (await readiness(registry))["failing_jobs"]
            assert failing["name"] == name
        await until(lambda: not jobs.failing())
    said = [line["event"] for line in logs if line.get("job") == name]
    assert said == ["job failed; its next failures of this kind are not logged", "job recovered"]


async def test_search_that_does_not_follow_is_logged_once_and_when_it_follows_again(registry: TestRegistry):
    agent = await registry.agent(name="Before")
    async with SEARCHER.of(registry.runtime).following():
        await fail_while_away(registry, "catalogue_card", "search: follow the catalogue")
        await registry.indexed()
        answer = await registry.get("/agent-cards/", params={"search": "Before"})
    assert [card["did"] for card in answer.json()["items"]] == [agent.did]


async def test_a_live_feed_that_cannot_read_is_logged_once_and_when_it_reads_again(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.journal.feed.live_feed.RECONNECT_SECONDS", 0.001)
    feed = LIVE_FEED.of(registry.runtime)
    async with feed.following(), feed.needed():
        await fail_while_away(registry, "journal_event", "live feed: follow the journal")
