"""journal/feed: 1,000 subscribers of a running service, 200 events/s, from the call of append to arrival; then with 100 more that never read."""

import asyncio
import json
import os
import resource
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from bench.figures import Figures, percentile
from bench.seed import temporary_directory
from hansa.doors.startup import open_runtime
from hansa.foundation.events import TokensIssued
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.plumbing.storage.embedded import running_dsn
from hansa.rooms import journal

SUBSCRIBERS = 1000
NEVER_READING = 100
EVENTS_PER_SECOND = 200
SECONDS = 10
PERIODIC_TASKS = 3
GRACE_SECONDS = 10
# So that who does not read is behind within the round.
RECEIVE_BUFFER_BYTES = 64 * 1024
CHANNEL = "events:TokensIssued"
EVENT = b'{"type":"event","event":'
HANDSHAKE = (
    "GET /ws/events HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Subscriber(asyncio.Protocol):
    """Counts live events without looking into them: a client that costs less than the server it measures.

    All readers receive the same events in the same order, so the count says which one arrived.
    """

    def __init__(self, host: str) -> None:
        self.arrivals: list[tuple[int, float]] = []
        self.count = 0
        self.subscribed = asyncio.get_running_loop().create_future()
        self._host = host
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not of asyncio's class.
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(HANDSHAKE.format(host=self._host).encode())

    def data_received(self, data: bytes) -> None:
        text = self._rest + data
        if not self.subscribed.done():
            self._begin(text)
        if found := text.count(EVENT):
            self.count += found
            self.arrivals.append((self.count, time.monotonic()))
        self._rest = text[-len(EVENT) + 1 :]

    def _begin(self, text: bytes) -> None:
        if b'"welcome"' in text:
            message = json.dumps({"action": "subscribe", "channel": CHANNEL}).encode()
            # A mask of zeros leaves the payload as it is.
            self.transport.write(bytes([0x81, 0x80 | len(message), 0, 0, 0, 0]) + message)
        if b'"subscribed"' in text:
            self.subscribed.set_result(None)


async def run(*, full: bool) -> Figures:
    figures = Figures()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    seconds = SECONDS * 5 if full else SECONDS
    async with (
        temporary_directory() as directory,
        _served(directory) as (url, pid),
        _beside(directory) as runtime,
    ):
        for mute in (0, NEVER_READING):
            medians, p99s, busy = [], [], []
            for _ in range(PERIODIC_TASKS):
                worked = _cpu_seconds(pid)
                latencies, complete = await _round(url, runtime, mute, seconds)
                busy.append((_cpu_seconds(pid) - worked) / seconds)
                medians.append(percentile(latencies, 0.5) * 1000)
                p99s.append(percentile(latencies, 0.99) * 1000)
                figures.books_are_sound &= complete
            beside = f", {mute} never read" if mute else ""
            figures.add(
                f"{SUBSCRIBERS:,} subscribers, {EVENTS_PER_SECOND} events/s{beside}: p50", "ms", medians
            )
            figures.add("p99", "ms", p99s)
            figures.add("cores used by the service", "", busy)
    figures.notes.append("sound: every subscriber that reads got every event, once")
    return figures


async def _round(url: str, runtime: Runtime, mute: int, seconds: int) -> tuple[list[float], bool]:
    """The delivery times of all events to all who read, sorted; and whether all arrived."""
    async with AsyncExitStack() as stack:
        for _ in range(mute):
            never_reading = await stack.enter_async_context(_subscribed(url))
            never_reading.transport.pause_reading()
        readers = [await stack.enter_async_context(_subscribed(url)) for _ in range(SUBSCRIBERS)]
        sent = await _write(runtime, EVENTS_PER_SECOND * seconds)
        deadline = time.monotonic() + GRACE_SECONDS
        while min(reader.count for reader in readers) < len(sent) and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        complete = all(reader.count == len(sent) for reader in readers)
        return sorted(late for reader in readers for late in _delays(reader, sent)), complete


def _delays(reader: Subscriber, sent: list[float]) -> list[float]:
    delays, delivered = [], 0
    for count, arrived in reader.arrivals:
        delays += [arrived - timestamp for timestamp in sent[delivered:count]]
        delivered = count
    return delays


async def _write(runtime: Runtime, count: int) -> list[float]:
    """Append one event at a time at an even pace; returns when each was asked for."""
    sent = []
    begun = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0, begun + number / EVENTS_PER_SECOND - time.monotonic()))
        event = TokensIssued(
            tx_id=number, to="did:hansa:hansa.local:bench", amount="1", currency="AVT", ref="bench"
        )
        sent.append(time.monotonic())
        await _append(runtime, event)
    return sent


async def _append(runtime: Runtime, event: TokensIssued) -> None:
    await runtime.database.transaction(lambda tx: journal.append(tx, event))


@asynccontextmanager
async def _subscribed(url: str) -> AsyncIterator[Subscriber]:
    address = urlsplit(url)
    assert address.port
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    connection.connect(("127.0.0.1", address.port))
    transport, subscriber = await asyncio.get_running_loop().create_connection(
        lambda: Subscriber(address.netloc), sock=connection
    )
    try:
        await asyncio.wait_for(subscriber.subscribed, 30)
        yield subscriber
    finally:
        transport.abort()


@asynccontextmanager
async def _served(directory: Path) -> AsyncIterator[tuple[str, int]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hansa.doors.operate", "serve", "--port=0", f"--data-dir={directory}",
        env={**os.environ, "RATE_LIMIT_READS": "off", "TRUSTED_PROXIES": "127.0.0.1"}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().removeprefix("ready ").strip(), process.pid
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def _beside(directory: Path) -> AsyncIterator[Runtime]:
    """A second look at the database of the running service."""
    settings = read_settings(data_dir=directory)
    async with open_runtime(settings, running_dsn(directory)) as runtime:
        yield runtime


def _cpu_seconds(pid: int) -> float:
    """Processor time that the process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
