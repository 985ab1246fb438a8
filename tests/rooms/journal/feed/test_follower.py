"""The follower delivers every committed event once, in the order of positions, whatever commits late or breaks."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.telemetry.job_health import JobHealth
from hansa.rooms import journal
from hansa.rooms.journal.feed.live_feed import Follower
from hansa.rooms.journal.feed.store import Place
from tests.operation.registry_process import until
from tests.registry import TestRegistry
from tests.rooms.journal.feed.feed_client import append, issued

WRITERS = 8
COMMITS_EACH = 25


class CountedLooks(JobHealth):
    """Counts how often the journal was read."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def succeeded(self, name: str) -> None:
        super().succeeded(name)
        self.count += 1

    async def read_again(self) -> None:
        """Wait for the end of a reading that begins after this call; one may be under way now."""
        seen = self.count
        await until(lambda: self.count >= seen + 2)


class Delivered:
    """Deliveries of a follower."""

    def __init__(self) -> None:
        self.returned: list[StoredEvent] = []
        self.begun = False
        self.looks = CountedLooks()

    def begin(self) -> None:
        self.begun = True

    @property
    def refs(self) -> list[str]:
        return [event.data["ref"] for event in self.returned]


@asynccontextmanager
async def following(registry: TestRegistry) -> AsyncIterator[Delivered]:
    returned = Delivered()
    follower = Follower(
        registry.database.dsn,
        begin=returned.begin,
        deliver=returned.returned.extend,
        rest=lambda: None,
        health=returned.looks,
    )
    follower.is_needed.set()
    task = asyncio.create_task(follower.run())
    try:
        await until(lambda: returned.begun)
        yield returned
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def write_slowly(registry: TestRegistry, writer: int, *, roll_back: Callable[[], bool]) -> list[str]:
    """Commit transactions that stay open 0 to 40 ms, before and after they write; return the committed events."""
    committed = []
    for number in range(COMMITS_EACH):
        refs = [f"{writer}-{number}-{part}" for part in range(random.randint(1, 3))]
        with suppress(ZeroDivisionError):
            await registry.database.transaction(lambda tx, refs=refs: hold_open(tx, refs, fails=roll_back()))
            committed += refs
    return committed


async def hold_open(tx, refs: list[str], *, fails: bool) -> None:
    first, *others = [issued(ref) for ref in refs]
    await journal.append(tx, first)
    await asyncio.sleep(random.uniform(0, 0.04))
    if others:
        await journal.append(tx, *others)
        await asyncio.sleep(random.uniform(0, 0.01))
    if fails:
        raise ZeroDivisionError


async def test_of_writers_whose_transactions_stay_open_nothing_is_missed_or_delivered_twice(
    registry: TestRegistry,
):
    async with following(registry) as returned:
        written = await asyncio.gather(
            *(write_slowly(registry, n, roll_back=lambda: random.random() < 0.1) for n in range(WRITERS))
        )
        committed = {ref for refs in written for ref in refs}
        await until(lambda: len(returned.returned) >= len(committed))
        await returned.looks.read_again()
    assert len(committed) > WRITERS * COMMITS_EACH
    assert sorted(returned.refs) == sorted(committed)
    places = [Place.of(event) for event in returned.returned]
    assert places == sorted(places)
    sequences = [event.sequence for event in returned.returned]
    assert sequences != sorted(sequences), "nothing committed late: the writers prove nothing"


async def test_an_older_open_transaction_holds_back_what_came_after_it(registry: TestRegistry):
    async with following(registry) as returned:
        older, may_commit = asyncio.Event(), asyncio.Event()

        async def hold(tx) -> None:
            await journal.append(tx, issued("older"))
            older.set()
            await may_commit.wait()

        holding = asyncio.create_task(registry.database.transaction(hold))
        await older.wait()
        await append(registry, "younger")
        await returned.looks.read_again()
        assert returned.refs == []
        may_commit.set()
        await holding
        await until(lambda: len(returned.returned) == 2)
        assert returned.refs == ["older", "younger"]


async def test_a_broken_connection_loses_and_doubles_nothing(registry: TestRegistry):
    async with following(registry) as returned:
        expected = []
        for number in range(60):
            expected.append(str(number))
            await append(registry, expected[-1])
            if number % 20 == 10:
                assert await end_followers(registry) == 1
            await asyncio.sleep(0.01)
        await until(lambda: len(returned.returned) >= len(expected))
        await returned.looks.read_again()
        assert returned.refs == expected


async def end_followers(registry: TestRegistry) -> int:
    """Break the connections that listen, and return how many there were."""

    async def ended() -> int:
        return await registry.database.query(
            lambda tx: tx.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid() AND"
                " (query LIKE 'LISTEN%' OR query LIKE '%(xid, seq) >%')"
            )
        )

    for _ in range(100):
        if count := await ended():
            return count
        await asyncio.sleep(0.02)
    return 0


async def test_what_was_there_before_is_not_delivered(registry: TestRegistry):
    await append(registry, *[str(number) for number in range(30)])
    async with following(registry) as returned:
        await append(registry, "after")
        await until(lambda: bool(returned.returned))
    assert returned.refs == ["after"]
