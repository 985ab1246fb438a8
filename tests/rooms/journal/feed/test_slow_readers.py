"""A reader that does not keep up is let go, and nobody else pays for it."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hansa.rooms.journal.feed import LIVE_FEED, conversation
from hansa.rooms.journal.feed.reader import CHUNK_BYTES, Reader
from tests.operation.registry_process import until
from tests.quickest import assert_within
from tests.registry import StartRegistry, TestRegistry
from tests.rooms.journal.feed.feed_client import Listener, append, open_listener

PADDING = "x" * 60_000
EVENTS = 60
SMALL_BUFFER = 16_384


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    return await start_registry(rate_limit_reads="off")


def with_a_small_buffer(address: str) -> socket.socket:
    """A connection whose buffer is soon full."""
    host, _, port = address.partition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    connection.connect((host, int(port)))
    connection.setblocking(False)
    return connection


async def overwhelm(registry: TestRegistry, quick: Listener | None = None) -> list[dict[str, Any]]:
    """Append more than the buffers of the system and the queue of a socket hold together; return the events that `quick` received.

    It receives each event before the next one: on a slow machine it would fall behind as well.
    """
    received = []
    for number in range(EVENTS):
        await append(registry, str(number), padding=PADDING)
        if quick is not None:
            received.append(await quick.hear())
    return received


async def test_a_reader_that_falls_behind_is_asked_to_resync_by_its_last_message(registry: TestRegistry):
    async with (
        registry.listening() as address,
        open_listener(address, sock=with_a_small_buffer(address), max_size=None) as slow,
        open_listener(address, max_size=None) as quick,
    ):
        for listener in (slow, quick):
            await listener.subscribe("events:all")
        slow.socket.transport.pause_reading()
        heard = await overwhelm(registry, quick)
        assert [message["event"]["data"]["ref"] for message in heard] == [str(n) for n in range(EVENTS)]
        slow.socket.transport.resume_reading()
        returned, last = await until_the_end(slow)
        assert last["type"] == "resync"
        assert (last["last_event_id"], last["last_sequence"]) == (
            returned[-1]["id"],
            returned[-1]["sequence"],
        )
        assert [event["data"]["ref"] for event in returned] == [str(n) for n in range(len(returned))]
        assert len(returned) < EVENTS
        assert await slow.ended() == 1013


async def until_the_end(listener: Listener) -> tuple[list[dict], dict]:
    """The events received, and the message after them."""
    returned = []
    while (heard := await listener.hear())["type"] == "event":
        returned.append(heard["event"])
    return returned, heard


async def test_a_reader_that_never_reads_is_cut_off_and_delays_nobody(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversation, "CLOSE_SECONDS", 0.5)
    async with (
        registry.listening() as address,
        open_listener(address, max_size=None) as quick,
        open_listener(address, sock=with_a_small_buffer(address), close_timeout=0) as paused,
    ):
        await paused.subscribe("events:all")
        await quick.subscribe("events:all")
        paused.socket.transport.pause_reading()
        await overwhelm(registry, quick)
        feed = LIVE_FEED.of(registry.runtime)
        await until(lambda: feed._sockets == 1)

        async def another() -> Callable[[], Awaitable[object]]:
            await append(registry, "after")
            return quick.hear

        await assert_within(1, another)
        paused.socket.transport.abort()


async def test_the_journal_is_read_only_while_a_channel_is_followed(registry: TestRegistry):
    feed = LIVE_FEED.of(registry.runtime)
    async with registry.listening() as address, open_listener(address) as listener:
        for ref in ("first", "second"):
            assert not feed._ready.is_set()
            await append(registry, f"before the {ref}")
            replay = await listener.subscribe("events:all")
            assert replay[-1]["data"]["ref"] == f"before the {ref}"
            await append(registry, ref)
            assert (await listener.hear())["event"]["data"]["ref"] == ref
            left = await listener.ask(action="unsubscribe", channel="events:all")
            assert left["type"] == "unsubscribed"
            await until(lambda: not feed._ready.is_set())


async def test_nothing_is_read_for_a_reader_that_is_lost(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    feed = LIVE_FEED.of(registry.runtime)
    unsubscribe_from_all, channels = feed._unsubscribe_from_all, []

    def record(reader: Reader) -> None:
        channels.append(len(reader.channels))
        unsubscribe_from_all(reader)

    monkeypatch.setattr(feed, "_unsubscribe_from_all", record)
    async with (
        registry.listening() as address,
        open_listener(address, sock=with_a_small_buffer(address), close_timeout=0) as paused,
    ):
        await paused.subscribe("events:all")
        paused.socket.transport.pause_reading()
        await overwhelm(registry)
        await until(lambda: not feed._ready.is_set())
        paused.socket.transport.abort()
        # When it is lost, and when its socket ends.
        await until(lambda: channels == [1, 0])


async def test_an_open_socket_does_not_hold_up_a_stop(registry: TestRegistry):
    async with registry.listening() as address:
        reading = await asyncio.to_thread(with_a_small_buffer, address)
        connection = open_listener(address, sock=reading, close_timeout=0)
        paused = await connection.__aenter__()
        await paused.subscribe("events:all")
        paused.socket.transport.pause_reading()
        await overwhelm(registry)
        started = time.monotonic()
    assert time.monotonic() - started < 5
    paused.socket.transport.abort()
    await connection.__aexit__(None, None, None)


class Noting:
    """A line that notes how much it was given at a time."""

    def __init__(self) -> None:
        self.written: list[int] = []

    def write(self, frames: bytes) -> bool:
        self.written.append(len(frames))
        return True

    async def drained(self) -> bool:
        await asyncio.sleep(0)
        return True


async def test_what_is_in_transit_to_one_reader_is_small_however_much_waits():
    line = Noting()
    reader = Reader(line)
    reader.send(*(bytes(1000) for _ in range(900)))
    sending = asyncio.create_task(reader.keep_sending())
    await until(lambda: len(line.written) > 1)
    sending.cancel()
    assert max(line.written) <= CHUNK_BYTES + 1000
