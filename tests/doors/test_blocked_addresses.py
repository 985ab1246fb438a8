"""Number of connections that an address holds, acts that count against it, and the effect of a block."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from time import monotonic

import pytest
import structlog

from hansa.doors.http.admission import Admission
from hansa.doors.http.connection.acceptor import RefusedSockets
from hansa.doors.http.connection.bounds import ConnectionBounds
from hansa.doors.http.connection.budgets import BUDGETS, Admissions, Budgets
from hansa.doors.http.connection.per_address import (
    ADDRESSES_MAX,
    BLOCKED_SECONDS,
    CONNECTIONS_PER_SOCKET,
    REFUSALS_MAX,
    REFUSALS_SECONDS,
    SOCKETS_PER_SECOND,
    SOCKETS_SPARE,
    AddressCounts,
)
from hansa.doors.http.connection.websockets import FRAMES_SPARE, PARSED_AT_ONCE_BYTES
from tests.doors.wires import HOST, LIMIT_SECONDS, LIVEZ, Listening, Wire, listen_with, statuses
from tests.hostile.bad_connections import CARD, SOCKET, masked
from tests.registry import StartRegistry


async def test_an_address_holds_so_many_connections_and_gets_a_place_back_when_one_ends(
    start_registry: StartRegistry,
):
    async with listen_with(start_registry, ConnectionBounds(), AddressCounts(3, exempt=[])) as listening:
        wires = [await listening.connect() for _ in range(3)]
        for wire in wires:
            await wire.send(LIVEZ + b"\r\n")
            assert (await wire.answer())[0] == 200
        assert statuses(await listening.answers()) == [429]
        wires[0].writer.close()
        async with asyncio.timeout(LIMIT_SECONDS):
            while statuses(await listening.answers(LIVEZ + b"Connection: close\r\n\r\n")) != [200]:
                pass


async def test_a_proxy_of_the_operator_holds_as_many_connections_as_it_likes(start_registry: StartRegistry):
    addresses = AddressCounts(1, exempt=["127.0.0.1"])
    async with listen_with(start_registry, ConnectionBounds(), addresses) as listening:
        wires = [await listening.connect() for _ in range(10)]
        for wire in wires:
            await wire.send(LIVEZ + b"\r\n")
            assert (await wire.answer())[0] == 200


async def test_an_address_whose_connections_are_refused_too_often_is_blocked_for_a_while(
    start_registry: StartRegistry,
):
    moments = [0.0]
    addresses = AddressCounts(1000, exempt=[], now=lambda: moments[-1])
    async with listen_with(start_registry, ConnectionBounds(), addresses) as listening:
        for _ in range(REFUSALS_MAX - 1):
            assert statuses(await listening.answers(b"no HTTP\r\n\r\n")) == [400]
        good = LIVEZ + b"Connection: close\r\n\r\n"
        assert statuses(await listening.answers(good)) == [200]
        assert statuses(await listening.answers(b"no HTTP\r\n\r\n")) == [400]
        assert statuses(await listening.answers(good)) == [429]
        moments.append(BLOCKED_SECONDS)
        assert statuses(await listening.answers(good)) == [200]


def test_refusals_long_ago_do_not_count_and_a_proxy_of_the_operator_is_never_blocked():
    moments = [0.0]
    addresses = AddressCounts(1000, exempt=["192.0.2.9"], now=lambda: moments[-1])
    for address in ("192.0.2.1", "192.0.2.9"):
        place = addresses.enter(address)
        assert place is not None
        for _ in range(REFUSALS_MAX - 1):
            place.note_refusal()
        moments.append(moments[-1] + REFUSALS_SECONDS)
        place.note_refusal()
        assert not addresses.is_blocked(address)
    for _ in range(REFUSALS_MAX):
        place.note_refusal()
    assert not addresses.is_blocked("192.0.2.9")


def test_the_addresses_of_one_ipv6_network_are_one():
    addresses = AddressCounts(1, exempt=[])
    place = addresses.enter("2001:db8::1")
    assert place is not None
    assert addresses.enter("2001:db8::2") is None
    assert addresses.enter("2001:db8:0:1::1") is not None
    place.free()
    place.free()
    assert addresses.enter("2001:db8::2") is not None


async def test_an_address_holds_so_many_sockets_and_gets_a_place_back_when_one_ends(
    start_registry: StartRegistry,
):
    addresses = AddressCounts(2 * CONNECTIONS_PER_SOCKET, exempt=[])
    async with listen_with(start_registry, ConnectionBounds(), addresses) as listening:
        first, _ = [await socket_of(listening) for _ in range(2)]
        head, _, body = (await listening.answers(SOCKET + b"\r\n")).partition(b"\r\n\r\n")
        assert statuses(head + b"\r\n") == [429]
        assert b"connection: close" in head
        refusal = json.loads(body)
        assert refusal["error"]["code"] == "TOO_MANY_SOCKETS"
        assert refusal["detail"].startswith("Your address holds 2 WebSockets, as many as it may; ")
        assert statuses(await listening.answers(LIVEZ + b"Connection: close\r\n\r\n")) == [200]
        first.writer.close()
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                wire = await listening.connect()
                await wire.send(SOCKET + b"\r\n")
                if (await wire.answer())[0] == 101:
                    break


async def test_an_address_opens_so_many_sockets_at_once_and_more_as_time_passes(
    start_registry: StartRegistry,
):
    moments = [0.0]
    addresses = AddressCounts(1000, exempt=[], now=lambda: moments[-1])
    async with listen_with(start_registry, ConnectionBounds(), addresses) as listening:
        for _ in range(SOCKETS_SPARE):
            (await socket_of(listening)).writer.close()
        head, _, body = (await listening.answers(SOCKET + b"\r\n")).partition(b"\r\n\r\n")
        assert statuses(head + b"\r\n") == [429]
        refusal = json.loads(body)
        assert refusal["error"]["code"] == "TOO_MANY_SOCKETS"
        assert refusal["detail"].endswith("retry after 1 second.")
        moments.append(1.0)
        for _ in range(SOCKETS_PER_SECOND):
            await socket_of(listening)
        assert statuses((await listening.answers(SOCKET + b"\r\n")).partition(b"\r\n\r\n")[0] + b"\r\n") == [
            429
        ]


def test_no_more_addresses_are_remembered_for_their_sockets_than_there_may_be():
    moments = [0.0]
    addresses = AddressCounts(1000, exempt=[], now=lambda: moments[-1])
    for number in range(ADDRESSES_MAX + 10):
        assert addresses.enter_socket(f"one {number}") is None
    assert len(addresses._opened) == ADDRESSES_MAX
    moments.append(SOCKETS_SPARE / SOCKETS_PER_SECOND)
    assert addresses.enter_socket("another") is None
    assert len(addresses._opened) == 1


async def test_a_proxy_of_the_operator_holds_as_many_sockets_as_it_likes(start_registry: StartRegistry):
    addresses = AddressCounts(1, exempt=["127.0.0.1"])
    async with listen_with(start_registry, ConnectionBounds(), addresses) as listening:
        for _ in range(5):
            await socket_of(listening)


async def test_a_socket_that_is_refused_behind_a_request_ends_the_connection_after_its_answer(
    start_registry: StartRegistry,
):
    addresses = AddressCounts(2, exempt=[])
    async with listen_with(start_registry, ConnectionBounds(), addresses) as listening:
        await socket_of(listening)
        slow = b"GET /api/v1/public/supply-invariant HTTP/1.1\r\n" + HOST + b"\r\n"
        answers = await listening.answers(slow + SOCKET + b"\r\n")
        assert statuses(answers)[0] == 200
        assert 101 not in statuses(answers)


GOOD = LIVEZ + b"Connection: close\r\n\r\n"
POST = b"POST /api/v1/auth/refresh HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"


class Counting(AddressCounts):
    """Counts refusals, and blocks an address when the test says so."""

    def __init__(self) -> None:
        super().__init__(1000, exempt=[])
        self.refusals: list[str] = []
        self.is_blocking = False

    def note_refusal(self, address: str) -> None:
        self.refusals.append(address)

    def is_blocked(self, host: str) -> bool:
        return self.is_blocking

    def blocks(self, address: str) -> bool:
        return self.is_blocking


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
async def listening(start_registry: StartRegistry, counting: Counting) -> AsyncIterator[Listening]:
    async with listen_with(start_registry, ConnectionBounds(), counting) as listening:
        yield listening


async def socket_of(listening: Listening) -> Wire:
    """A socket of the live feed, whose handshake was answered."""
    wire = await listening.connect()
    await wire.send(SOCKET + b"\r\n")
    assert (await wire.answer())[0] == 101
    return wire


ENDLESS_FRAGMENTS = masked(b"", 1, is_last=False) + masked(b"", 0, is_last=False) * 10_000


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        ([b"no HTTP\r\n\r\n"], {400}),
        ([LIVEZ + b"X-A: b\r\n" * 1000], {431}),
        ([(LIVEZ + b"\r\n") * 1000], {200}),
        ([POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 10_000], {400}),
        ([POST + b"Content-Length: 1000000000000\r\n\r\n", *[b"a" * 8192] * 5000], {413}),
        ([CARD + b"Content-Length: 2000000\r\n\r\n", *[b"a" * 8192] * 200], {401}),
        ([CARD + b"Transfer-Encoding: chunked\r\n\r\n", *[b"1000\r\n" + b"a" * 4096 + b"\r\n"] * 500], {401}),
    ],
    ids=[
        "no HTTP",
        "a large head",
        "requests sent far ahead",
        "chunks of one byte",
        "an endless body",
        "a large body without a credential",
        "large chunks without a credential",
    ],
)
async def test_what_ends_a_connection_counts_against_its_address(
    listening: Listening, counting: Counting, sent: list[bytes], answered: set[int]
):
    assert set(statuses(await listening.answers(*sent))) <= answered
    assert counting.refusals == ["127.0.0.1"]


async def test_a_small_body_that_follows_its_refusal_is_read_and_the_connection_goes_on(
    listening: Listening, counting: Counting
):
    wire = await listening.connect()
    for framing, body in (
        (b"Content-Length: 50000", b"a" * 50_000),
        (b"Transfer-Encoding: chunked", b"c350\r\n" + b"a" * 50_000 + b"\r\n0\r\n\r\n"),
    ):
        await wire.send(CARD + framing + b"\r\n\r\n")
        assert (await wire.answer())[0] == 401
        await wire.send(body + LIVEZ + b"\r\n")
        assert (await wire.answer())[0] == 200
    assert counting.refusals == []


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        (ENDLESS_FRAGMENTS, b"\x03\xf1"),
        (masked(b"a" * 100, 9) * 2 * FRAMES_SPARE, b"\x03\xf0"),
        (masked(b"\xff", 1), b"\x03\xef"),
        (masked(b"", 3), b"\x03\xea"),
    ],
    ids=["endless fragments", "more pings than are answered", "no UTF-8", "an unknown kind of frame"],
)
async def test_what_ends_a_socket_counts_against_its_address(
    listening: Listening, counting: Counting, frames: bytes, code: bytes, caplog: pytest.LogCaptureFixture
):
    wire = await socket_of(listening)
    await wire.send(frames)
    assert b"\x88" in (end := await wire.everything())
    assert code in end
    assert counting.refusals == ["127.0.0.1"]
    assert not [record for record in caplog.records if record.exc_info], "an exception was logged"


async def test_frames_that_do_not_wait_for_the_handshake_end_the_connection_without_an_error(
    listening: Listening, counting: Counting, caplog: pytest.LogCaptureFixture
):
    for turns in range(20):
        wire = await listening.connect()
        await wire.send(SOCKET + b"\r\n")
        for _ in range(turns):
            await asyncio.sleep(0)
        await wire.send(ENDLESS_FRAGMENTS)
    async with asyncio.timeout(LIMIT_SECONDS):
        while not counting.refusals:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert statuses(await listening.answers(GOOD)) == [200]
    assert not [record for record in caplog.records if record.exc_info], "an exception was logged"


async def test_a_socket_whose_client_pings_as_often_as_clients_do_stays_open(listening: Listening):
    wire = await socket_of(listening)
    await wire.send(masked(b"a", 9) * (FRAMES_SPARE // 2))
    received = b""
    async with asyncio.timeout(LIMIT_SECONDS):
        while received.count(b"\x8a\x01a") < FRAMES_SPARE // 2:
            received += await wire.reader.read(PARSED_AT_ONCE_BYTES)
    assert b"\x88" not in received


async def test_a_blocked_address_loses_the_connections_without_an_answer_and_keeps_the_others(
    listening: Listening, counting: Counting
):
    answered, silent = await listening.connect(), await listening.connect()
    await answered.send(LIVEZ + b"\r\n")
    assert (await answered.answer())[0] == 200
    await silent.send(b"GET ")
    counting.is_blocking = True
    await silent.send(b"/livez HTTP/1.1\r\n" + HOST + b"\r\n")
    assert await silent.everything() == b""
    await answered.send(LIVEZ + b"\r\n")
    assert (await answered.answer())[0] == 200


READ = b"GET /api/v1/public/supply-invariant HTTP/1.1\r\n" + HOST + b"\r\n"


def with_one_place(listening: Listening, timeout_seconds: float) -> Admission:
    """The budget of reads, whose only place is taken."""
    reads = Admission(places=1, timeout_seconds=timeout_seconds)
    registry = listening.registry
    BUDGETS.put(registry.runtime, Budgets(registry.app, [], Admissions(reads=reads)))
    reads.ask(lambda: True, lambda: None)
    return reads


async def test_a_request_of_a_blocked_address_that_waited_for_its_place_is_not_begun(
    listening: Listening, counting: Counting
):
    reads = with_one_place(listening, LIMIT_SECONDS)
    waiting = await listening.connect()
    await waiting.send(READ)
    async with asyncio.timeout(LIMIT_SECONDS):
        while not reads._waiting:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    counting.is_blocking = True
    reads.leave()
    assert await waiting.everything() == b""
    counting.is_blocking = False
    assert statuses(await listening.answers(GOOD)) == [200]


async def test_a_blocked_address_loses_the_connections_that_were_answered_with_a_503_alone(
    listening: Listening, counting: Counting
):
    with_one_place(listening, 0.01)
    wire = await listening.connect()
    await wire.send(READ)
    assert (await wire.answer())[0] == 503
    counting.is_blocking = True
    await wire.send(LIVEZ + b"\r\n")
    assert await wire.everything() == b""


# Connections that are refused when they are accepted.


def pair() -> tuple[socket.socket, socket.socket]:
    """A client, and the connection that was accepted for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        client.settimeout(LIMIT_SECONDS)
        return client, listener.accept()[0]


async def test_a_refused_connection_is_answered_at_once_and_closed_later():
    refused = RefusedSockets(held_seconds=0.05)
    client, connection = pair()
    with client:
        refused.refuse(connection, is_plain=True)
        assert statuses(client.recv(1000)) == [429]
        assert connection.fileno() > 0
        async with asyncio.timeout(LIMIT_SECONDS):
            while len(refused):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert client.recv(1000) == b""


async def test_no_more_refused_connections_are_held_than_there_may_be():
    refused = RefusedSockets(held_max=1)
    clients = []
    for _ in range(3):
        client, connection = pair()
        clients.append(client)
        refused.refuse(connection, is_plain=False)
    assert len(refused) == 1
    for client in clients[1:]:
        assert client.recv(1000) == b""
    refused.close()
    assert clients[0].recv(1000) == b""
    assert len(refused) == 0
    for client in clients:
        client.close()


async def test_refused_connections_are_logged_with_their_number_at_most_once_a_second(
    listening: Listening, counting: Counting
):
    counting.is_blocking = True
    started = monotonic()
    with structlog.testing.capture_logs() as lines:
        clients = [await listening.connect() for _ in range(30)]
        for client in clients:
            assert (await client.answer())[0] == 429
        async with asyncio.timeout(LIMIT_SECONDS):
            while sum(line["connections"] for line in lines) < 30:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        seconds = monotonic() - started
    assert sum(line["connections"] for line in lines) == 30
    assert {line["address"] for line in lines} == {"127.0.0.1"}
    assert len(lines) <= 1 + seconds
