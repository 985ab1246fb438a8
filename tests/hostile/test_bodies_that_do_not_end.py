"""A service or registry that sends its client more than it can hold, packed or drop by drop."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from hansa_client import AsyncRegistry, Registry
from hansa_client.bounded import (
    ANSWER_MAX_BYTES,
    EVENT_MAX_BYTES,
    AsyncEventStream,
    async_read_within,
    read_within,
)
from hansa_client.errors import AnswerInvalid
from hansa_client.pay import AsyncPayingClient, PayingClient

MEBIBYTE = 1024 * 1024


class Dripping(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """A body without an end."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"{"

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield b"{"


class Packed(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """Eight mebibytes of zeros, in parts that arrive one after another."""

    def __init__(self) -> None:
        self._packed = gzip.compress(bytes(8 * MEBIBYTE))
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part

    def __iter__(self) -> Iterator[bytes]:
        for begin in range(0, len(self._packed), 512):
            self.taken += 1
            yield self._packed[begin : begin + 512]


async def _read(response: httpx2.Response, *, is_asynchronous: bool, bytes_max: int, seconds: float) -> None:
    if is_asynchronous:
        await async_read_within(response, bytes_max, seconds)
    else:
        read_within(response, bytes_max, seconds)


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_a_dripped_body_ends_by_a_total_deadline(is_asynchronous: bool):
    response = httpx2.Response(402, stream=Dripping())
    with pytest.raises(httpx2.ReadTimeout, match="did not end within"):
        await _read(response, is_asynchronous=is_asynchronous, bytes_max=1024 * MEBIBYTE, seconds=0.05)
    assert response.is_closed


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_a_packed_body_is_given_up_once_it_is_too_large_unpacked(is_asynchronous: bool):
    packed = Packed()
    response = httpx2.Response(402, headers={"Content-Encoding": "gzip"}, stream=packed)
    with pytest.raises(httpx2.DecodingError, match="more than 1048576 bytes"):
        await _read(response, is_asynchronous=is_asynchronous, bytes_max=MEBIBYTE, seconds=60)
    assert packed.taken < 8
    assert response.is_closed


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_a_body_within_its_bounds_is_read_whole(is_asynchronous: bool):
    headers = {"Content-Encoding": "gzip"}
    response = httpx2.Response(200, headers=headers, stream=Packed())
    await _read(response, is_asynchronous=is_asynchronous, bytes_max=8 * MEBIBYTE, seconds=60)
    assert response.content == bytes(8 * MEBIBYTE)


class Sending:
    """A server that answers each request with one head and parts of a body, and counts the bytes that it could send."""

    def __init__(self, head: bytes, parts: Callable[[], Iterator[bytes]]) -> None:
        self.url = ""
        self.sent = 0
        self.has_ended = asyncio.Event()
        self._head, self._parts = head, parts

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n" + self._head + b"\r\n")
            for part in self._parts():
                writer.write(part)
                await writer.drain()
                self.sent += len(part)
                await asyncio.sleep(0)
        writer.close()
        self.has_ended.set()


@asynccontextmanager
async def sending(head: bytes, parts: Callable[[], Iterator[bytes]]) -> AsyncIterator[Sending]:
    server = Sending(head, parts)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()


async def _config(url: str, *, is_asynchronous: bool) -> None:
    if is_asynchronous:
        async with AsyncRegistry(url) as registry:
            await registry.config()
        return

    def read() -> None:
        with Registry(url) as registry:
            registry.config()

    await asyncio.to_thread(read)


async def _stream(url: str, journal: Path, received: list[bytes], *, is_asynchronous: bool) -> None:
    if is_asynchronous:
        async with (
            AsyncRegistry(url) as registry,
            AsyncPayingClient(registry, journal=journal) as client,
            client.stream("GET", url) as response,
        ):
            async for part in response.aiter_bytes():
                received += [part]
        return

    def read() -> None:
        with (
            Registry(url) as registry,
            PayingClient(registry, journal=journal) as client,
            client.stream("GET", url) as response,
        ):
            received.extend(response.iter_bytes())

    await asyncio.to_thread(read)


# How much the buffers of both sockets and of the libraries hold.
BUFFERED = 16 * MEBIBYTE


def _one_chunk(size: int) -> Iterator[bytes]:
    yield b"%x\r\n" % size
    for _ in range(size // MEBIBYTE):
        yield b" " * MEBIBYTE


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_one_chunk_that_is_larger_than_the_bound_is_given_up_at_the_bound(is_asynchronous: bool):
    head = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    async with sending(head, lambda: _one_chunk(3 * ANSWER_MAX_BYTES)) as server:
        with pytest.raises(AnswerInvalid, match="more than 67108864 bytes"):
            await _config(server.url, is_asynchronous=is_asynchronous)
        await server.has_ended.wait()
    assert server.sent < ANSWER_MAX_BYTES + BUFFERED


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_a_body_whose_length_is_declared_beyond_the_bound_is_not_read(is_asynchronous: bool):
    head = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % (ANSWER_MAX_BYTES + 1)
    parts = [b" " * MEBIBYTE] * (ANSWER_MAX_BYTES // MEBIBYTE)
    async with sending(head, lambda: iter(parts)) as server:
        with pytest.raises(AnswerInvalid, match="more than 67108864 bytes"):
            await _config(server.url, is_asynchronous=is_asynchronous)
        await server.has_ended.wait()
    assert server.sent < BUFFERED


def _chunked(parts: Iterator[bytes]) -> Iterator[bytes]:
    for part in parts:
        if part:
            yield b"%x\r\n%b\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


def _endless_event() -> Iterator[bytes]:
    yield b"data: first\n\n"
    while True:
        yield b"data: " + b"x" * MEBIBYTE + b"\n"


def _packed(parts: Iterator[bytes]) -> Iterator[bytes]:
    packing = zlib.compressobj(wbits=31)
    for part in parts:
        yield packing.compress(part)
        yield packing.flush(zlib.Z_SYNC_FLUSH)


EVENTS = b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_an_event_without_an_end_ends_the_stream_at_the_bound(
    is_asynchronous: bool, is_packed: bool, tmp_path: Path
):
    head = EVENTS + (b"Content-Encoding: gzip\r\n" if is_packed else b"")
    received: list[bytes] = []

    def parts() -> Iterator[bytes]:
        return _chunked(_packed(_endless_event()) if is_packed else _endless_event())

    async with sending(head, parts) as server:
        with pytest.raises(httpx2.DecodingError, match="one event of the stream has more than"):
            await _stream(server.url, tmp_path / "journal", received, is_asynchronous=is_asynchronous)
        await server.has_ended.wait()
    assert b"".join(received[:1]).startswith(b"data: first\n\n")
    assert EVENT_MAX_BYTES - BUFFERED < sum(map(len, received)) <= EVENT_MAX_BYTES + len(b"data: first\n\n")
    assert server.sent < EVENT_MAX_BYTES + BUFFERED


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_a_stream_of_many_events_may_be_longer_than_the_bound(is_asynchronous: bool, tmp_path: Path):
    event = b"data: " + b"x" * (8 * MEBIBYTE) + b"\r\n\r\n"
    received: list[bytes] = []
    async with sending(EVENTS, lambda: _chunked(iter([event] * 9))) as server:
        await _stream(server.url, tmp_path / "journal", received, is_asynchronous=is_asynchronous)
    assert b"".join(received) == event * 9
    assert len(event) * 9 > EVENT_MAX_BYTES


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n", b"\r\n\n", b"\r\r\n"])
async def test_the_end_of_an_event_is_seen_however_its_bytes_are_cut(end: bytes, size: int):
    async def read(text: bytes) -> bytes:
        parts = [text[begin : begin + size] for begin in range(0, len(text), size)]
        stream = AsyncEventStream(httpx2.Response(200, stream=Parts(parts)), 17)
        return b"".join([part async for part in stream])

    many = (b"data: 012345" + end) * 20
    assert await read(many) == many
    with pytest.raises(httpx2.DecodingError):
        await read(b"data: 012345678901" + end)
    with pytest.raises(httpx2.DecodingError):
        await read(many + b"data: 01\r\ndata: 01\r\n")


class Parts(httpx2.AsyncByteStream):
    """A body in these parts."""

    def __init__(self, parts: list[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
