"""`hansa journal follow` publishes each event of the journal to a stream of NATS once, in order, through kills and outages."""

import json
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import asyncpg
import nats
import nats.js.errors
import pytest
from nats.js import JetStreamContext

from hansa.foundation.events import AgentOnboarded
from hansa.rooms import journal
from tests.operation.forked_commands import ForkedCommand
from tests.operation.nats_server import NatsServer, nats_server
from tests.operation.registry_process import RegistryProcess, environment, launch, run, until_async
from tests.properties.scale import by_tier
from tests.registry import DatabaseFarm, TestRegistry, open_registry

STREAM = "HANSA_JOURNAL"
KILLS = 10
EVENTS = by_tier(40, 20_000, 100_000)
"""Events between two kills."""


class Followed:
    """A registry and the server that its journal is published to."""

    def __init__(self, registry: TestRegistry, dsn: str, data_dir: Path, server: NatsServer) -> None:
        self.registry, self.server, self.url = registry, server, server.url
        self._settings = {"DATABASE_URL": dsn}
        self._data_dir = data_dir
        self._count = 0
        self._process: Process | ForkedCommand | None = None

    async def write(self, count: int) -> None:
        """Append so many events in one transaction."""
        events = [
            AgentOnboarded(f"did:hansa:hansa.local:follow-{self._count + number}", "card", False, "disabled")
            for number in range(count)
        ]
        self._count += count
        await self.registry.database.transaction(lambda tx: journal.append(tx, *events))

    async def catch_up(self, *options: str) -> tuple[int, str]:
        """Run the command until no event is left: its exit code and what it prints."""
        await self.registry.transactions_ended()
        ended = await run(
            *("journal", "follow", f"--nats={self.url}", "--until-caught-up", *options),
            data_dir=self._data_dir,
            **self._settings,
        )
        return ended.code, ended.output or ended.complaint

    async def command(self, *arguments: str) -> tuple[int, str]:
        """Run another `hansa journal` command: its exit code and what it prints."""
        ended = await run("journal", *arguments, data_dir=self._data_dir, **self._settings)
        return ended.code, ended.output or ended.complaint

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """The command under way, killed at the end."""
        self._process = process = await launch(
            *("journal", "follow", f"--nats={self.url}"),
            environment=environment(self._data_dir, **self._settings),
            stderr=PIPE,
        )
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                self.kill()
            await process.wait()

    async def recorded(self) -> list[tuple[str, int]]:
        """Id and number of each event of the journal, in its order."""
        await self.registry.transactions_ended()
        events = await journal.events_to_follow(self.registry.database, journal.Place(0, 0), 1_000_000)
        return [(str(event.id), event.sequence) for event in events]

    @asynccontextmanager
    async def place_locked(self) -> AsyncIterator[None]:
        """Let no follower store its place meanwhile."""
        connection = await asyncpg.connect(self._settings["DATABASE_URL"])
        try:
            async with connection.transaction():
                # A row lock would make this a writing transaction, which holds back the events behind it.
                await connection.execute("LOCK TABLE journal_follower IN SHARE MODE")
                yield
        finally:
            await connection.close()

    async def place(self) -> tuple[int, int]:
        row = await self.registry.database.query(
            lambda tx: tx.fetchrow("SELECT xid, seq FROM journal_follower WHERE name = 'nats'")
        )
        return (0, 0) if row is None else (row["xid"], row["seq"])


@pytest.fixture
async def followed(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Followed]:
    dsn, data_dir = await database_farm.fresh(), tmp_path / "data"
    async with nats_server(tmp_path / "nats") as server, open_registry(dsn, data_dir) as registry:
        yield Followed(registry, dsn, data_dir, server)


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[JetStreamContext]:
    connection = await nats.connect(url)
    try:
        yield connection.jetstream()
    finally:
        await connection.close()


async def published(url: str) -> list[tuple[str, int]]:
    """Id and number of each event of the stream, in its order."""
    found: list[tuple[str, int]] = []
    async with reading(url) as stream:
        count = (await stream.stream_info(STREAM)).state.messages
        consumer = await stream.pull_subscribe("", stream=STREAM)
        while len(found) < count:
            for message in await consumer.fetch(min(1000, count - len(found)), timeout=30):
                event = json.loads(message.data)
                assert message.headers is not None
                assert message.headers["Nats-Msg-Id"] == event["id"]
                assert message.subject == f"hansa.journal.{event['event_type']}"
                found.append((event["id"], event["sequence"]))
                await message.ack()
    return found


async def count_in(url: str) -> int:
    async with reading(url) as stream:
        try:
            return (await stream.stream_info(STREAM)).state.messages
        except nats.js.errors.NotFoundError:
            return 0


async def test_each_event_is_published_once_in_the_order_of_the_journal(followed: Followed):
    await followed.write(50)
    code, said = await followed.catch_up()
    assert (code, said.split()[0].isdecimal()) == (0, True), said
    recorded = await followed.recorded()
    assert await published(followed.url) == recorded
    assert await followed.catch_up("--json") == (0, '{\n  "published": 0,\n  "stream": "HANSA_JOURNAL"\n}\n')
    await followed.write(3)
    assert await followed.catch_up() == (0, "3 events published to HANSA_JOURNAL\n")
    assert len(await published(followed.url)) == len(recorded) + 3


async def test_a_follower_killed_between_publishing_and_storing_its_place_publishes_nothing_twice(
    followed: Followed,
):
    for _ in range(KILLS):
        async with followed.following():
            await until_async(lambda: _has_come_to_the_end(followed))
            before = await followed.place()
            async with followed.place_locked():
                count = await count_in(followed.url) + EVENTS
                await followed.write(EVENTS)
                await until_async(lambda count=count: _has_published(followed.url, count))
                followed.kill()
                assert await followed.place() == before
    code, said = await followed.catch_up()
    assert (code, said) == (0, "0 events published to HANSA_JOURNAL\n")
    assert await published(followed.url) == await followed.recorded()


async def test_a_follower_goes_on_after_an_outage_of_the_server(followed: Followed, tmp_path: Path):
    await followed.catch_up()
    async with followed.following():
        await until_async(lambda: _has_come_to_the_end(followed))
        await followed.server.restart()
        await followed.write(5)
        await until_async(lambda: _has_come_to_the_end(followed))
    assert await published(followed.url) == await followed.recorded()


async def test_of_two_followers_of_one_name_the_second_to_move_is_refused(registry: TestRegistry):
    place, further = journal.Place(0, 0), journal.Place(1, 1)
    move = partial(journal.move_follower, name="twice", before=place)
    await registry.database.transaction(lambda tx: journal.place_of_follower(tx, "twice"))
    await registry.database.transaction(lambda tx: move(tx, to=further))
    for to in (further, journal.Place(2, 1), place):
        with pytest.raises(journal.FollowerMoved):
            await registry.database.transaction(lambda tx, to=to: move(tx, to=to))


async def test_a_server_that_is_away_ends_a_run_until_caught_up_with_one_line(followed: Followed):
    followed.url = "nats://127.0.0.1:9"
    code, said = await followed.catch_up()
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("hansa: ")


@pytest.mark.parametrize("option", ["--stream=a b", "--name=a.b", "--subject=a.*"])
async def test_names_that_are_none_are_refused(running: RegistryProcess, option: str):
    ended = await run("journal", "follow", "--nats=nats://127.0.0.1:9", option, data_dir=running.data_dir)
    assert (ended.code, len(ended.complaints)) == (2, 1)
    assert option.partition("=")[0] in ended.complaint


async def _has_come_to_the_end(followed: Followed) -> bool:
    events = await journal.events_to_follow(followed.registry.database, journal.Place(0, 0), 1_000_000)
    return await followed.place() == (events[-1].xid, events[-1].sequence)


async def _has_published(url: str, count: int) -> bool:
    return await count_in(url) == count


async def test_a_follower_is_removed_by_its_name(followed: Followed):
    await followed.write(3)
    assert (await followed.catch_up())[0] == 0
    assert await followed.command("forget", "nats") == (0, "follower nats removed\n")
    assert await followed.place() == (0, 0)
    code, output = await followed.command("forget", "nats")
    assert (code, "No follower is named 'nats'" in output) == (1, True)
