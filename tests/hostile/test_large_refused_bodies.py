"""A client that sends a body too large, and reads only when it has sent all of it, still reads why it was refused."""

import asyncio
import json
import re
import socket
from collections.abc import Callable, Iterator

import pytest

from hansa.doors.http.connection.bounds import WINDOW_BYTES, WINDOW_SECONDS, Discarding
from tests.doors.wires import HOST, LIMIT_SECONDS
from tests.registry import TestRegistry

MEBIBYTE = 1 << 20
PIECE = b"a" * MEBIBYTE
JSON = b"Content-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n"


def with_length(mebibytes: int) -> tuple[bytes, Iterator[bytes]]:
    return b"Content-Length: %d\r\n" % (mebibytes << 20), (PIECE for _ in range(mebibytes))


def chunked(mebibytes: int) -> tuple[bytes, Iterator[bytes]]:
    pieces = [b"%x\r\n" % len(PIECE) + PIECE + b"\r\n"] * mebibytes
    return b"Transfer-Encoding: chunked\r\n", iter([*pieces, b"0\r\n\r\n"])


def asked(place: str, head: bytes, pieces: Iterator[bytes]) -> bytes:
    """All that a client receives that sends everything first, then reads to the end."""
    host, _, port = place.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT_SECONDS) as wire:
        wire.sendall(head)
        for piece in pieces:
            wire.sendall(piece)
        received = b""
        while more := wire.recv(1 << 16):
            received += more
    return received


@pytest.mark.parametrize("further", [b"", CLOSE], ids=["kept", "closed"])
@pytest.mark.parametrize("framed", [with_length, chunked])
@pytest.mark.parametrize(
    ("path", "mebibytes", "statuses"),
    [
        (b"/api/v1/auth/refresh", 2, {413}),
        (b"/api/v1/auth/refresh", 12, {413}),
        (b"/api/v1/auth/refresh", 200, {413}),
        (b"/api/v1/utils/validate-card", 3, {413}),
        (b"/api/v1/agent-cards/", 12, {401}),
        (b"/api/v1/teg/transfer", 12, {401, 413}),
        (b"/api/v1/nothing", 12, {404}),
        (b"/livez", 12, {405}),
    ],
)
async def test_the_answer_to_a_refused_body_is_read_by_a_client_that_sends_all_of_it_first(
    registry: TestRegistry,
    *,
    path: bytes,
    mebibytes: int,
    statuses: set[int],
    framed: Callable[[int], tuple[bytes, Iterator[bytes]]],
    further: bytes,
):
    field, pieces = framed(mebibytes)
    head = b"POST " + path + b" HTTP/1.1\r\n" + HOST + JSON + further + field + b"\r\n"
    async with registry.listening() as place:
        received = await asyncio.to_thread(asked, place, head, pieces)
    head, _, body = received.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    assert status is not None, received[:200]
    assert int(status[1]) in statuses
    assert json.loads(body)["status"] == int(status[1])


def expecting(place: str, head: bytes, pieces: Iterator[bytes]) -> bytes:
    """All that a client receives that waits for `100 Continue`, and sends its body all the same when another answer comes."""
    host, _, port = place.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT_SECONDS) as wire:
        wire.sendall(head)
        received = wire.recv(1 << 16)
        for piece in pieces:
            wire.sendall(piece)
        while more := wire.recv(1 << 16):
            received += more
    return received


@pytest.mark.parametrize("framed", [with_length, chunked])
@pytest.mark.parametrize("mebibytes", [3, 200])
async def test_a_client_that_expects_100_continue_reads_why_its_body_is_refused(
    registry: TestRegistry, *, mebibytes: int, framed: Callable[[int], tuple[bytes, Iterator[bytes]]]
):
    field, pieces = framed(mebibytes)
    head = (
        b"POST /api/v1/auth/refresh HTTP/1.1\r\n"
        + HOST
        + JSON
        + b"Expect: 100-continue\r\n"
        + field
        + b"\r\n"
    )
    async with registry.listening() as place:
        received = await asyncio.to_thread(expecting, place, head, pieces)
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
    assert statuses in ([413], [100, 413])
    assert json.loads(received.rpartition(b"\r\n\r\n")[2])["status"] == 413


def test_bodies_are_thrown_away_at_a_bounded_rate():
    timestamp = 100.0
    discarding = Discarding(lambda: timestamp)
    taken, pauses = 0, 0
    while timestamp < 110:
        pause = discarding.take(MEBIBYTE)
        taken += MEBIBYTE
        pauses += pause > 0
        timestamp += pause
    assert pauses
    per_second = WINDOW_BYTES / WINDOW_SECONDS
    assert taken <= 10 * per_second + WINDOW_BYTES


def test_what_was_thrown_away_beyond_a_window_is_missing_in_the_next_ones():
    timestamp = 100.0
    discarding = Discarding(lambda: timestamp)
    assert discarding.take(3 * WINDOW_BYTES) == WINDOW_SECONDS
    for _ in range(2):
        timestamp += WINDOW_SECONDS
        assert discarding.take(1) == WINDOW_SECONDS
    timestamp += WINDOW_SECONDS
    assert discarding.take(1) == 0
