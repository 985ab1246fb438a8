"""Limits on the cost of one connection: small heads, plain framing, deadlines, and answers that are read."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator

import pytest

from hansa.doors.http.connection.bounds import (
    ADDRESSES_TO_FILL,
    PIPELINED_MAX,
    ConnectionBounds,
    UnsentAnswers,
)
from hansa.doors.http.connection.deadlines import Deadlines
from hansa.doors.http.connection.http_connections import GatheredWrites
from hansa.doors.http.connection.strict_head import FIELDS_MAX, HEAD_MAX_BYTES
from hansa.doors.http.connection.websockets import FRAGMENTS_MAX
from hansa.doors.serving.listeners import SEND_BUFFER_BYTES, listen
from tests.doors.wires import (
    HOST,
    LIMIT_SECONDS,
    LIVEZ,
    MEBIBYTE,
    Lagging,
    Listening,
    Wire,
    listen_with,
    statuses,
)
from tests.hostile.bad_connections import LARGE
from tests.registry import StartRegistry

FAST_TICK_SECONDS = 0.01


@pytest.fixture
async def patient(start_registry: StartRegistry) -> AsyncIterator[Listening]:
    """Deadlines as they are."""
    async with listen_with(start_registry, ConnectionBounds()) as listening:
        yield listening


@pytest.fixture
async def hasty(start_registry: StartRegistry) -> AsyncIterator[Listening]:
    """Deadlines a hundred times as short."""
    async with listen_with(start_registry, ConnectionBounds(Deadlines(FAST_TICK_SECONDS))) as listening:
        yield listening


def refusal_in(answers: bytes) -> tuple[int, str, str]:
    """Status, code and sentence of the problem document that is the only answer."""
    head, _, body = answers.partition(b"\r\n\r\n")
    assert len(statuses(answers)) == 1, answers[:200]
    assert b"application/problem+json" in head
    assert b"connection: close" in head
    assert b"x-request-id: " in head
    document = json.loads(body)
    assert document["status"] == statuses(answers)[0]
    assert document["detail"] == document["error"]["detail"]
    return document["status"], document["error"]["code"], document["detail"]


# Heads.


async def test_a_head_that_never_ends_is_refused_at_64_kib(patient: Listening):
    for endless in (b"X-A: " + b"a" * (8 * MEBIBYTE), b"a" * (8 * MEBIBYTE), b"X-A: b\r\n" * MEBIBYTE):
        wire = await patient.connect()
        sending = asyncio.create_task(
            wire.send(LIVEZ, *(endless[i : i + 9000] for i in range(0, len(endless), 9000)))
        )
        assert refusal_in(await wire.everything())[:2] == (431, "HEAD_TOO_LARGE")
        await sending


async def test_a_path_that_never_ends_is_refused_at_64_kib(patient: Listening):
    assert refusal_in(await patient.answers(b"GET /" + b"a" * 3 * HEAD_MAX_BYTES))[0] == 431


async def test_a_head_of_almost_64_kib_is_taken(patient: Listening):
    head = LIVEZ + b"Connection: close\r\nX-A: " + b"a" * (HEAD_MAX_BYTES - 200) + b"\r\n\r\n"
    assert statuses(await patient.answers(head)) == [200]


async def test_a_hundred_fields_are_taken_and_one_more_is_refused(patient: Listening):
    for count, status in ((FIELDS_MAX, 200), (FIELDS_MAX + 1, 431)):
        fields = b"".join(b"X-%d: a\r\n" % number for number in range(count - 2))
        assert statuses(await patient.answers(LIVEZ + b"Connection: close\r\n" + fields + b"\r\n")) == [
            status
        ]


async def test_the_second_head_of_a_connection_is_bounded_too(patient: Listening):
    wire = await patient.connect()
    await wire.send(LIVEZ + b"\r\n")
    assert (await wire.answer())[0] == 200
    await wire.send(LIVEZ + b"X-A: ", *(b"a" * 8000 for _ in range(30)))
    assert refusal_in(await wire.everything())[0] == 431


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (LIVEZ + b"Host: elsewhere.test\r\n\r\n", "host occurs more than once"),
        (b"GET /livez HTTP/1.1\r\n\r\n", "Host header field is missing"),
        (b"GET /livez HTTP/1.1\r\nHost: a/b?c#d\r\n\r\n", "not a host"),
        (b"GET /livez\r\n\r\n", "got HTTP/0.9"),
        (LIVEZ.replace(b"1.1", b"2.0") + b"\r\n", "HTTP"),
        (LIVEZ + b"Idempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n", "idempotency-key occurs more than once"),
        (LIVEZ + b"Idempotency-Key: a\r\nidempotency-key: a\r\n\r\n", "idempotency-key occurs more than once"),
        (b"GET /api/v1/teg%2fbalance HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n", "encoded slash"),
        (b"GET /api/v1/teg%2Fbalance HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n", "encoded slash"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "not valid HTTP"),
    ],
)  # fmt: skip
async def test_an_ambiguous_head_is_refused(patient: Listening, head: bytes, sentence: str):
    status, _, detail = refusal_in(await patient.answers(head))
    assert (status, sentence in detail) == (400, True), detail


async def test_an_encoded_slash_in_the_query_is_taken(patient: Listening):
    path = b"GET /livez?q=a%2Fb HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
    assert statuses(await patient.answers(path)) == [200]


async def test_http_1_0_without_a_host_is_taken(patient: Listening):
    assert statuses(await patient.answers(b"GET /livez HTTP/1.0\r\n\r\n")) == [200]


# Bodies.

REFRESH = b"POST /api/v1/auth/refresh HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
CHUNKED = REFRESH + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "endless",
    [
        [b"4;" + b"a" * 8000, *(b"a" * 8000 for _ in range(500))],
        [b"0\r\nX-A: ", *(b"a" * 8000 for _ in range(500))],
        [b"0\r\n", *(b"X-A: aaaaaaaaaa\r\n" * 500 for _ in range(500))],
        [b"1\r\na\r\n" * 1500 for _ in range(500)],
    ],
    ids=["a chunk extension", "a trailer", "trailers", "chunks of one byte"],
)
async def test_framing_that_never_ends_is_refused(patient: Listening, endless: list[bytes]):
    wire = await patient.connect()
    sending = asyncio.create_task(wire.send(CHUNKED, *endless))
    assert refusal_in(await wire.everything())[0] == 400
    await sending


async def test_a_body_in_small_chunks_is_taken(patient: Listening):
    wire = await patient.connect()
    body = json.dumps({"refresh_token": "a" * 900}).encode()
    await wire.send(CHUNKED, *(b"1;x=y\r\n%c\r\n" % byte for byte in body), b"0\r\nX-Trailer: a\r\n\r\n")
    assert (await wire.answer())[0] in {401, 422}
    await wire.send(LIVEZ + b"\r\n")
    assert (await wire.answer())[0] == 200


async def test_a_trailer_is_not_read_as_a_header(patient: Listening):
    agent = await patient.registry.agent()
    trailer = b"Authorization: Bearer " + agent.token.encode() + b"\r\n"
    wire = await patient.connect()
    await wire.send(
        CHUNKED.replace(b"/auth/refresh", b"/teg/transfer"), b"2\r\n{}\r\n", b"0\r\n" + trailer + b"\r\n"
    )
    assert (await wire.answer())[0] == 401


async def test_a_body_that_is_still_sent_after_its_refusal_does_not_go_on_for_ever(patient: Listening):
    wire = await patient.connect()
    await wire.send(
        REFRESH + b"Content-Length: %d\r\n\r\n" % (1 << 40), *(b"a" * MEBIBYTE for _ in range(64))
    )
    assert statuses(await wire.everything())[:1] in ([413], [])


# Deadlines.


async def test_a_connection_that_says_nothing_is_closed_without_a_word(hasty: Listening):
    assert await hasty.answers() == b""


async def test_a_head_that_is_sent_slowly_is_refused_however_steadily_it_goes_on(hasty: Listening):
    wire = await hasty.connect()
    await wire.send(LIVEZ)

    async def drip() -> None:
        for number in range(10_000):
            await wire.send(b"X-%d: a\r\n" % (number % 10))
            await asyncio.sleep(FAST_TICK_SECONDS)

    dripping = asyncio.create_task(drip())
    assert refusal_in(await wire.everything())[:2] == (408, "REQUEST_TIMEOUT")
    dripping.cancel()


async def test_half_a_body_is_refused(hasty: Listening):
    for path in (b"/api/v1/auth/refresh", b"/api/v1/teg/transfer"):
        half = REFRESH.replace(b"/api/v1/auth/refresh", path) + b"Content-Length: 1000\r\n\r\n{"
        assert refusal_in(await hasty.answers(half))[:2] == (408, "REQUEST_TIMEOUT")


async def test_a_body_that_drips_is_refused(hasty: Listening):
    wire = await hasty.connect()
    await wire.send(REFRESH + b"Content-Length: 100000\r\n\r\n")

    async def drip() -> None:
        while True:
            await wire.send(b" ")
            await asyncio.sleep(FAST_TICK_SECONDS)

    dripping = asyncio.create_task(drip())
    assert refusal_in(await wire.everything())[0] == 408
    dripping.cancel()


async def test_an_idle_connection_is_closed_in_the_end(hasty: Listening):
    wire = await hasty.connect()
    await wire.send(LIVEZ + b"\r\n")
    assert (await wire.answer())[0] == 200
    assert await wire.everything() == b""


async def test_the_timeouts_are_counted(hasty: Listening):
    name = 'hansa_connections_cut_off_total{reason="head_timeout"}'
    before = await hasty.metric(name)
    await hasty.answers(LIVEZ)
    assert await hasty.metric(name) == before + 1


# Readers.


async def test_who_does_not_read_is_not_read_from_and_is_cut_off(hasty: Listening):
    wire = await hasty.connect(limit=1)
    await wire.send(LARGE * PIPELINED_MAX)
    async with asyncio.timeout(LIMIT_SECONDS):
        while not await hasty.metric('hansa_connections_cut_off_total{reason="slow_reader"}'):
            pass


async def test_an_answer_larger_than_the_room_of_its_address_arrives_whole(start_registry: StartRegistry):
    room = UnsentAnswers(bytes_max=ADDRESSES_TO_FILL * 100_000)
    async with listen_with(start_registry, ConnectionBounds(unsent=room)) as listening:
        host, _, port = listening.place.rpartition(":")
        narrow = socket.socket()
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        narrow.connect((host, int(port)))
        wire = Wire(*await asyncio.open_connection(sock=narrow, limit=1))
        await wire.send(b"GET /api/v1/openapi.json HTTP/1.1\r\n" + HOST + b"\r\n")
        async with asyncio.timeout(LIMIT_SECONDS):
            while room.total_bytes <= 100_000:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += await wire.reader.read(1024)
            head, _, body = answer.lower().partition(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", head)[1])
            body = answer[len(head) + 4 :] + await wire.reader.readexactly(length - len(body))
        wire.writer.close()
    assert json.loads(body)["openapi"]


def test_the_only_reader_is_not_cut_off_for_the_size_of_its_answer():
    answers = UnsentAnswers(bytes_max=1000)
    only, second = Lagging(5000), Lagging(10)
    answers.add(only)
    assert not only.is_cut_off
    answers.add(second)
    assert only.is_cut_off
    assert not second.is_cut_off


def test_what_waits_for_all_slow_readers_together_is_bounded():
    answers = UnsentAnswers(bytes_max=1000)
    readers = [Lagging(300) for _ in range(10)]
    for reader in readers:
        answers.add(reader)
        assert answers.total_bytes <= 1000
    assert not readers[-1].is_cut_off
    assert readers[0].is_cut_off


def test_a_reader_that_has_caught_up_is_not_cut_off_for_what_once_waited():
    answers = UnsentAnswers(bytes_max=1000)
    readers = [Lagging(400), Lagging(400), Lagging(400)]
    answers.add(readers[0])
    answers.add(readers[1])
    readers[0].unsent = readers[1].unsent = 10
    answers.add(readers[2])
    assert not any(reader.is_cut_off for reader in readers)
    answers.remove(readers[2])
    assert answers.total_bytes == 20


def test_what_waits_for_the_slow_readers_of_one_address_is_bounded_and_others_keep_theirs():
    answers = UnsentAnswers(bytes_max=1000 * ADDRESSES_TO_FILL)
    other, uncounted = Lagging(900), Lagging(1000)
    answers.add(other, "192.0.2.1")
    answers.add(uncounted)
    readers = [Lagging(300) for _ in range(10)]
    for reader in readers:
        answers.add(reader, "192.0.2.2")
    assert not other.is_cut_off
    assert not uncounted.is_cut_off
    assert not readers[-1].is_cut_off
    assert answers.total_bytes - 1900 <= 1000
    assert answers.is_crowded("192.0.2.2")
    for reader in (*readers, other, uncounted):
        answers.remove(reader)
    assert answers.total_bytes == 0
    assert not answers.is_crowded("192.0.2.2")


def test_the_system_keeps_little_for_a_client_that_does_not_read():
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            # Linux counts twice what it was asked for.
            kept = connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
            assert kept <= 2 * SEND_BUFFER_BYTES


async def test_more_requests_sent_ahead_than_are_kept_end_the_connection_after_those_that_are(
    patient: Listening,
):
    answers = await patient.answers((LIVEZ + b"\r\n") * 1000)
    assert set(statuses(answers)) == {200}
    assert len(statuses(answers)) <= PIPELINED_MAX + 2


async def test_a_message_of_endless_fragments_ends_its_socket(patient: Listening):
    wire = await patient.connect()
    await wire.send(
        b"GET /ws/events HTTP/1.1\r\n"
        + HOST
        + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    assert (await wire.answer())[0] == 101
    first, more = bytes([0x01, 0x80, 0, 0, 0, 0]), bytes([0x00, 0x80, 0, 0, 0, 0])
    await wire.send(first, more * 2 * FRAGMENTS_MAX)
    assert b"\x03\xf1a message has at most 64 fragments" in await wire.everything()


class EndedTransport(asyncio.Transport):
    """Transport in the state of the event loop's transports once their connection has ended."""

    def is_closing(self) -> bool:
        return True

    def write(self, data: object) -> None:
        raise RuntimeError("the handler is closed")

    def close(self) -> None:
        pass


async def test_what_waits_for_a_connection_that_was_cut_off_is_dropped_without_an_error():
    gathered = GatheredWrites(EndedTransport(), asyncio.get_running_loop())
    gathered.write(b"an answer")
    gathered.close()


# Deadlines by themselves.


class Waiter:
    """Something with a deadline, which notes when that passed."""

    due = filed = 2**62

    def __init__(self) -> None:
        self.passed = asyncio.Event()

    def overdue(self) -> None:
        self.passed.set()


async def test_a_deadline_that_is_moved_counts_as_it_was_set_last():
    deadlines = Deadlines(0.002)
    sooner, later, gone = Waiter(), Waiter(), Waiter()
    for waiter in (sooner, later, gone):
        deadlines.arm(waiter, 20)
    deadlines.arm(sooner, 2)
    deadlines.arm(later, 60)
    deadlines.clear(gone)
    await asyncio.wait_for(sooner.passed.wait(), LIMIT_SECONDS)
    assert not later.passed.is_set()
    await asyncio.wait_for(later.passed.wait(), LIMIT_SECONDS)
    assert not gone.passed.is_set()
    deadlines.arm(gone, 1)
    await asyncio.wait_for(gone.passed.wait(), LIMIT_SECONDS)
