"""Each event is reacted to once and in order, whatever fails, breaks or dies."""

import asyncio
import multiprocessing
import random
from collections.abc import Awaitable, Callable
from functools import partial
from multiprocessing.process import BaseProcess

import pytest

from hansa.foundation.events import AgentOnboarded
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import journal
from tests.all_events import ALL_EVENTS
from tests.properties.scale import by_tier, printed_seed
from tests.quickest import assert_within
from tests.registry import TestRegistry
from tests.rooms.journal.feed.feed_client import append, issued
from tests.rooms.journal.reactors.reacting import (
    KEPT,
    REACTIONS,
    CountedTries,
    keep,
    kept,
    react_for_ever,
    reacting,
    reactor,
)

# Processes that are forks of one that has the modules: loading them costs each as much as all its reactions.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([react_for_ever.__module__])
HEALTHY = "healthy"
EVENTS = by_tier(120, 1_000, 10_000)
KILLS = by_tier(2, 20, 200)


TABLES = REACTIONS


@pytest.fixture
def registry(registry_with_tables: TestRegistry) -> TestRegistry:
    return registry_with_tables


@pytest.fixture
def database(registry: TestRegistry) -> Database:
    return registry.database


class Counting:
    """A reaction that fails with one event, the first `failures` times."""

    def __init__(self, failing: str, failures: int) -> None:
        self.calls: list[str] = []
        self._failing = failing
        self._failures = failures

    async def react(self, tx: Tx, event: journal.StoredEvent) -> None:
        self.calls.append(event.data["ref"])
        await keep(tx, event)
        if event.data["ref"] == self._failing and self._failures:
            self._failures -= 1
            raise ZeroDivisionError("what a reaction may say\nand what it may not: a row")


async def until_kept(database: Database, count: int, name: str = KEPT, seconds: float = 30) -> list[str]:
    async with asyncio.timeout(seconds):
        while len(refs := await kept(database, name)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return refs


async def set_aside(database: Database) -> list[tuple[object, ...]]:
    return [
        tuple(row)
        for row in await database.query(
            lambda tx: tx.fetch(
                "SELECT reactor, event_type, failures, error, data ->> 'ref'"
                f" FROM journal_reactor_set_aside a JOIN {ALL_EVENTS} e USING (xid, seq, event_type)"
            )
        )
    ]


async def test_a_reactor_is_called_for_its_types_in_the_order_of_the_journal(
    registry: TestRegistry, database: Database
):
    async with reacting(database, reactor()):
        await registry.agent()
        await append(registry, "1", "2")
        await append(registry, "3")
        assert await until_kept(database, 3) == ["1", "2", "3"]


async def test_a_reaction_follows_its_event_within_a_second(registry: TestRegistry, database: Database):
    tries = CountedTries()
    async with reacting(database, reactor(), health=tries):
        await append(registry, "first")
        await until_kept(database, 1)

        async def after_a_pause() -> Callable[[], Awaitable[object]]:
            await tries.tried_again()
            known = len(await kept(database))
            await append(registry, "after a pause")
            return partial(until_kept, database, known + 1)

        await assert_within(1, after_a_pause)


async def test_a_new_reactor_begins_with_what_happens_from_now_on_unless_set_otherwise(
    registry: TestRegistry, database: Database
):
    await append(registry, "long ago")
    whole = "from the start"

    async def keep_whole(tx: Tx, event: journal.StoredEvent) -> None:
        await keep(tx, event, whole)

    async with reacting(database, reactor(), reactor(keep_whole, whole, from_the_start=True)):
        await append(registry, "now")
        # The genesis supply was the first event of this type.
        assert (await until_kept(database, 3, whole))[1:] == ["long ago", "now"]
        assert await until_kept(database, 1) == ["now"]


async def test_what_was_still_open_when_a_reactor_began_is_not_missed(
    registry: TestRegistry, database: Database
):
    opened, may_commit = asyncio.Event(), asyncio.Event()

    async def write_slowly(tx: Tx) -> None:
        await journal.append(tx, issued("open"))
        opened.set()
        await may_commit.wait()

    slow = asyncio.create_task(database.transaction(write_slowly))
    await opened.wait()
    tries = CountedTries()
    async with reacting(database, reactor(), health=tries):
        await append(registry, "later")
        await tries.tried_again()
        assert await kept(database) == [], "what stands behind an open transaction waits for it"
        may_commit.set()
        await slow
        assert await until_kept(database, 2) == ["open", "later"]


async def test_a_reactor_of_many_events_reacts_to_them_together(registry: TestRegistry, database: Database):
    calls: list[int] = []

    async def together(tx: Tx, /, *events: journal.StoredEvent) -> None:
        calls.append(len(events))
        for event in events:
            await keep(tx, event)

    kinds = reactor(together).event_types
    many = journal.Reactor(KEPT, kinds, together, together=together)
    await database.transaction(lambda tx: journal.settle_reactors(tx, [many]))
    refs = [str(number) for number in range(60)]
    await append(registry, *refs)
    async with reacting(database, many):
        assert await until_kept(database, 60) == refs
    assert calls == [60]


async def test_where_many_events_cannot_be_reacted_to_together_only_the_one_that_fails_is_set_aside(
    registry: TestRegistry, database: Database
):
    async def together(tx: Tx, /, *events: journal.StoredEvent) -> None:
        for event in events:
            await keep(tx, event)
            if event.data["ref"] == "2":
                raise ZeroDivisionError("the second")

    kinds = reactor(together).event_types
    many = journal.Reactor(KEPT, kinds, together, together=together)
    await database.transaction(lambda tx: journal.settle_reactors(tx, [many]))
    await append(registry, "1", "2", "3")
    async with reacting(database, many):
        assert await until_kept(database, 2) == ["1", "3"]
    assert [row[-1] for row in await set_aside(database)] == ["2"]


async def test_a_reactor_goes_on_from_where_it_stood(registry: TestRegistry, database: Database):
    async with reacting(database, reactor()):
        await append(registry, "1")
        await until_kept(database, 1)
    await append(registry, "2", "3")
    async with reacting(database, reactor()):
        assert await until_kept(database, 3) == ["1", "2", "3"]


async def test_a_reaction_that_fails_is_tried_again_and_nothing_of_the_failures_stands(
    registry: TestRegistry, database: Database
):
    reaction = Counting(failing="2", failures=3)
    async with reacting(database, reactor(reaction.react)):
        await append(registry, "1", "2", "3")
        assert await until_kept(database, 3) == ["1", "2", "3"]
    assert reaction.calls.count("2") == 3 + 1
    assert await set_aside(database) == []


async def test_an_event_that_fails_every_time_is_set_aside_and_the_reactor_goes_on(
    registry: TestRegistry, database: Database
):
    reaction = Counting(failing="2", failures=1_000)
    async with reacting(database, reactor(reaction.react)):
        await append(registry, "1", "2", "3")
        await append(registry, "4")
        assert await until_kept(database, 3) == ["1", "3", "4"]
    assert await set_aside(database) == [
        (KEPT, "TokensIssued", 4, "ZeroDivisionError: what a reaction may say", "2")
    ]


async def test_a_reactor_that_fails_holds_back_no_other(registry: TestRegistry, database: Database):
    async def keep_as_healthy(tx: Tx, event: journal.StoredEvent) -> None:
        await keep(tx, event, HEALTHY)

    reaction = Counting(failing="1", failures=1_000)
    async with reacting(database, reactor(reaction.react), reactor(keep_as_healthy, HEALTHY)):
        await append(registry, "1", "2")
        assert await until_kept(database, 2, HEALTHY) == ["1", "2"]
        assert await until_kept(database, 1) == ["2"]


async def test_a_reactor_without_events_of_its_types_stays_where_it_is(
    registry: TestRegistry, database: Database
):
    async def never(tx: Tx, event: journal.StoredEvent) -> None:
        raise AssertionError("nobody was onboarded")

    tries = CountedTries()
    async with reacting(database, journal.Reactor("idle", (AgentOnboarded,), never), health=tries):
        await append(registry, "1")
        await tries.tried_again()
    assert await set_aside(database) == []


async def test_of_runners_at_once_each_event_is_taken_by_one(registry: TestRegistry, database: Database):
    random.seed(printed_seed())

    async def commit_slowly(number: int) -> None:
        async def write(tx: Tx) -> None:
            await journal.append(tx, issued(str(number)))
            await asyncio.sleep(random.uniform(0, 0.02))

        await asyncio.sleep(random.uniform(0, 0.5))
        await database.transaction(write)

    async with reacting(database, reactor()), reacting(database, reactor()), reacting(database, reactor()):
        await asyncio.gather(*(commit_slowly(number) for number in range(EVENTS)))
        await until_kept(database, EVENTS)
        # What comes after them in the journal is reacted to last.
        await append(registry, str(EVENTS))
        await until_kept(database, EVENTS + 1)
        assert sorted(map(int, await kept(database))) == list(range(EVENTS + 1))


async def test_a_reaction_whose_connection_breaks_in_the_middle_is_made_once(
    registry: TestRegistry, database: Database
):
    broken: list[str] = []

    async def break_off(tx: Tx, event: journal.StoredEvent) -> None:
        await keep(tx, event)
        if len(broken) < 3:
            broken.append(event.data["ref"])
            await tx.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    async with reacting(database, reactor(break_off)):
        await append(registry, "1", "2")
        assert await until_kept(database, 2) == ["1", "2"]
    assert len(broken) == 3


async def test_processes_that_are_killed_in_the_middle_leave_no_event_out_and_none_twice(
    registry: TestRegistry, database: Database
):
    random.seed(printed_seed())
    await database.transaction(lambda tx: journal.settle_reactors(tx, [reactor()]))
    refs = [str(number) for number in range(EVENTS)]
    processes = [_reacting_process(database.dsn) for _ in range(2)]
    try:
        for ref in refs:
            await append(registry, ref)
        for number in range(KILLS):
            done = len(await kept(database))
            await until_kept(database, min(done + 2, EVENTS))
            await _kill(processes[number % 2])
            processes[number % 2] = _reacting_process(database.dsn)
        assert await until_kept(database, EVENTS, seconds=60) == refs
    finally:
        for process in processes:
            await _kill(process)
    assert await kept(database) == refs


async def test_of_an_event_that_is_set_aside_the_operator_reads_in_the_metrics(
    registry: TestRegistry, database: Database
):
    reaction = Counting(failing="1", failures=1_000)
    async with reacting(database, reactor(reaction.react, "shown in the metrics")):
        await append(registry, "1", "2")
        await until_kept(database, 1)
    metrics = (await registry.http.get("/metrics")).text
    assert 'hansa_reactions_set_aside_total{reactor="shown in the metrics"} 1.0' in metrics


def _reacting_process(dsn: str) -> BaseProcess:
    """Another process that reacts, which is being started."""
    process = PROCESSES.Process(target=react_for_ever, args=(dsn,))
    process.start()
    return process


async def _kill(process: BaseProcess) -> None:
    process.kill()
    await asyncio.to_thread(process.join)
