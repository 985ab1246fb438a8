"""So many requests of a kind are worked on at once; the others wait in turn, and not for long."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from hansa.doors.http.admission import Admission
from hansa.doors.http.connection.bounds import ADDRESSES_TO_FILL, ConnectionBounds, UnsentAnswers
from hansa.doors.http.connection.budgets import BUDGETS, SEARCHES, UNCOUNTED, Admissions, Budgets
from hansa.doors.http.connection.http_connections import (
    LONG_ANSWER_BYTES,
    SENT_AHEAD_MAX,
    AdmittedRequest,
    ConnectionProtocol,
)
from hansa.doors.http.connection.per_address import AddressCounts
from hansa.doors.http.direct_request import SEND_WHOLE
from hansa.doors.reference_map import empty_app, entrances
from tests.doors.wires import Lagging, listen_with
from tests.registry import StartRegistry, TestAgent, TestRegistry

BALANCE = "/api/v1/teg/balance"
TRANSFER = "/api/v1/teg/transfer"
PATIENCE_SECONDS = 120


class Asking:
    """Outcomes of requests: the numbers of those that began, in their order, and of those that were refused."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.begun: list[int] = []
        self.refused: list[int] = []

    def ask(self, number: int, *, is_there: bool = True) -> None:
        def begin() -> bool:
            if is_there:
                self.begun.append(number)
            return is_there

        self.admission.ask(begin, lambda: self.refused.append(number))


async def test_places_are_given_in_the_order_of_asking():
    asking = Asking(Admission(places=1, timeout_seconds=5))
    for number in range(20):
        asking.ask(number)
        assert asking.begun == [0]
    for number in range(20):
        assert asking.begun == list(range(number + 1))
        asking.admission.leave()
    assert asking.refused == []


async def test_never_more_than_the_places_are_worked_on_at_once():
    asking = Asking(Admission(places=3, timeout_seconds=5))
    for number in range(10):
        asking.ask(number)
    assert asking.begun == [0, 1, 2]
    asking.admission.leave()
    asking.admission.leave()
    assert asking.begun == [0, 1, 2, 3, 4]


async def test_who_finds_no_place_in_time_is_refused_and_the_others_go_on_waiting(
    monkeypatch: pytest.MonkeyPatch,
):
    seconds = 100.0
    monkeypatch.setattr("hansa.doors.http.admission.monotonic", lambda: seconds)
    asking = Asking(Admission(places=1, timeout_seconds=0.05))
    for number in range(3):
        asking.ask(number)
    seconds += 0.03
    asking.ask(3)
    seconds += 0.03
    while not asking.refused:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    assert (asking.begun, asking.refused) == ([0], [1, 2])
    asking.admission.leave()
    assert asking.begun == [0, 3]
    asking.admission.leave()
    asking.ask(4)
    assert asking.begun == [0, 3, 4]


async def test_a_client_that_went_away_leaves_its_place_to_the_next():
    asking = Asking(Admission(places=1, timeout_seconds=5))
    asking.ask(0)
    asking.ask(1, is_there=False)
    asking.ask(2)
    asking.admission.leave()
    assert asking.begun == [0, 2]
    asking.ask(3)
    assert asking.begun == [0, 2]


async def test_a_budget_has_fewer_places_while_another_is_in_use():
    money = Admission(places=10)
    search = Asking(Admission(places=4, yields_to=money, places_beside=1))
    for number in range(6):
        search.ask(number)
    assert search.begun == [0, 1, 2, 3]
    money.ask(lambda: True, lambda: None)
    for _ in range(3):
        search.admission.leave()
    assert search.begun == [0, 1, 2, 3]
    search.admission.leave()
    assert search.begun == [0, 1, 2, 3, 4]
    money.leave()
    search.admission.leave()
    search.ask(6)
    assert search.begun == [0, 1, 2, 3, 4, 5], "money moved a moment ago"


# Over a socket.


@dataclass
class Crowded:
    """A registry on a socket, with one place, which the test may take."""

    registry: TestRegistry
    agent: TestAgent
    place: str
    admission: Admission

    def take_the_place(self) -> None:
        self.admission.ask(lambda: True, lambda: None)

    def let_wait(self) -> None:
        """Nobody who comes from now on is refused by a timeout, however slow the machine."""
        self.admission.timeout_seconds = PATIENCE_SECONDS

    def let_wait_after_the_next(self) -> None:
        ask = self.admission.ask

        def asking(begin: Callable[[], bool], refuse: Callable[[], None]) -> None:
            ask(begin, refuse)
            self.let_wait()

        self.admission.ask = asking  # type: ignore[method-assign]

    async def waiting(self, number: int) -> None:
        """Until so many wait for the place."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.admission._waiting) < number:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Line"]:
        host, _, port = self.place.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            yield Line(self, reader, writer)
        finally:
            writer.close()

    def request(self, method: str, path: str, body: bytes = b"", *more: str) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: registry.test",
            f"Authorization: Bearer {self.agent.token}",
            f"Content-Length: {len(body)}",
            "Content-Type: application/json",
            *more,
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Line:
    """One connection."""

    crowded: Crowded
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, sent: bytes) -> None:
        self.writer.write(sent)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next answer on the line: status, headers, body."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(head[0].split()[1]), headers, body


@pytest.fixture
async def crowded(start_registry: StartRegistry) -> AsyncIterator[Crowded]:
    registry = await start_registry(rate_limit_reads="off")
    admission = Admission(places=1, timeout_seconds=0.1)
    BUDGETS.put(registry.runtime, Budgets(registry.app, registry.app.direct, Admissions(admission)))
    agent = await registry.agent()
    async with registry.listening() as place:
        yield Crowded(registry, agent, place, admission)


def transfer_to(payee: TestAgent, amount: str) -> bytes:
    return json.dumps({"receiver_agent_id": payee.did, "amount": amount}).encode()


async def test_a_request_that_finds_no_place_is_refused_in_the_form_of_every_refusal(crowded: Crowded):
    crowded.take_the_place()
    async with httpx2.AsyncClient(base_url=f"http://{crowded.place}") as http:
        named = {**crowded.agent.headers, "X-Request-ID": "mine-7"}
        refused = await http.get(BALANCE, headers=named)
        body = refused.json()
        assert refused.status_code == 503
        assert refused.headers["content-type"] == "application/problem+json"
        assert (refused.headers["retry-after"], refused.headers["x-request-id"]) == ("2", "mine-7")
        assert refused.headers["cache-control"] == "no-store"
        assert (body["status"], body["title"], body["instance"]) == (503, "Service Unavailable", BALANCE)
        assert (body["error"]["code"], body["error"]["detail"]) == ("SERVICE_UNAVAILABLE", body["detail"])
        # The shape of a refusal that the application makes.
        other = (await http.get("/nowhere")).json()
        assert body.keys() == other.keys()
        assert body["error"].keys() == other["error"].keys()
        assert body["type"].rpartition("/")[0] == other["type"].rpartition("/")[0]
        again = await http.get(BALANCE, headers=crowded.agent.headers)
        assert again.headers["x-request-id"] != "mine-7"
        assert len(again.headers["x-request-id"]) == 32
        metrics = (await http.get("/metrics")).text
    assert f'hansa_http_requests_total{{method="GET",route="{BALANCE}",status="503"}} 2.0' in metrics


async def test_ordinary_routes_need_no_place(crowded: Crowded):
    crowded.take_the_place()
    async with httpx2.AsyncClient(base_url=f"http://{crowded.place}") as http:
        assert (await http.get("/livez")).status_code == 200
        assert (await http.get("/api/v1/teg/fees/config")).status_code == 200


async def test_who_waits_is_served_when_the_place_becomes_free_and_leaves_it_in_turn(crowded: Crowded):
    crowded.take_the_place()
    crowded.let_wait()
    async with crowded.connected() as first, crowded.connected() as second:
        for line in (first, second):
            line.send(crowded.request("GET", BALANCE))
        await crowded.waiting(2)
        crowded.admission.leave()
        for line in (first, second):
            status, _, body = await line.answer()
            assert (status, json.loads(body)["balance"]) == (200, "100")


async def test_a_refused_connection_goes_on_unless_it_was_to_be_closed(crowded: Crowded):
    crowded.take_the_place()
    async with crowded.connected() as line, crowded.connected() as closing:
        line.send(crowded.request("GET", BALANCE))
        closing.send(crowded.request("GET", BALANCE, b"", "Connection: close"))
        assert (await line.answer())[0] == 503
        status, headers, _ = await closing.answer()
        assert (status, headers["connection"]) == (503, "close")
        assert await closing.reader.read() == b""
        crowded.let_wait()
        crowded.admission.leave()
        line.send(crowded.request("GET", BALANCE))
        assert (await line.answer())[0] == 200


async def test_requests_sent_one_behind_the_other_are_answered_in_their_order(crowded: Crowded):
    crowded.take_the_place()
    crowded.let_wait_after_the_next()
    payee = await crowded.registry.agent()
    async with crowded.connected() as line:
        line.send(
            crowded.request("GET", BALANCE)
            + crowded.request("GET", "/livez")
            + crowded.request("POST", TRANSFER, transfer_to(payee, "1"))
            + crowded.request("GET", BALANCE)
        )
        assert (await line.answer())[0] == 503
        assert (await line.answer())[0] == 200
        crowded.admission.leave()
        status, _, body = await line.answer()
        assert (status, json.loads(body)["new_sender_balance"]) == (200, "98.995")
        assert json.loads((await line.answer())[2])["balance"] == "98.995"


async def test_what_is_sent_ahead_asks_for_a_place_in_its_turn(crowded: Crowded):
    crowded.take_the_place()
    crowded.let_wait()
    async with crowded.connected() as line:
        line.send(crowded.request("GET", BALANCE) * 3)
        await crowded.waiting(1)
        await asyncio.sleep(0.02)
        assert len(crowded.admission._waiting) == 1
        crowded.admission.leave()
        assert [(await line.answer())[0] for _ in range(3)] == [200] * 3


async def test_a_request_without_a_place_ends_the_connection_of_a_client_that_sent_many_ahead(
    crowded: Crowded,
):
    crowded.take_the_place()
    async with crowded.connected() as few, crowded.connected() as many:
        few.send(crowded.request("GET", BALANCE) * (1 + SENT_AHEAD_MAX))
        assert [(await few.answer())[0] for _ in range(1 + SENT_AHEAD_MAX)] == [503] * (1 + SENT_AHEAD_MAX)
        many.send(crowded.request("GET", BALANCE) * (2 + SENT_AHEAD_MAX))
        status, headers, _ = await many.answer()
        assert (status, headers["connection"]) == (503, "close")
        assert await many.reader.read() == b""


class Flow:
    """Flow control of an answer, by whether its client reads it."""

    write_paused = False


class Held:
    """A connection, as far as an answer knows it."""

    held_bytes = 0

    def __init__(self) -> None:
        self.flow = Flow()


@pytest.mark.parametrize("goes_slow", [False, True])
@pytest.mark.parametrize(
    ("field", "holds"),
    [
        ((b"Content-Length", b"%d" % LONG_ANSWER_BYTES), False),
        ((b"Content-Length", b"%d" % (LONG_ANSWER_BYTES + 1)), True),
        ((b"content-type", b"application/json"), True),
        ((b"content-type", b"text/event-stream; charset=utf-8"), False),
    ],
)
async def test_a_long_answer_holds_its_place_until_it_is_written_or_its_client_does_not_read(
    field: tuple[bytes, bytes], holds: bool, goes_slow: bool
):
    admission, connection, seen = Admission(places=1), Held(), []

    async def app(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [field]})
        seen.append(admission._taken == 1)
        connection.flow.write_paused = goes_slow
        for is_last in (False, True):
            await send({"type": "http.response.body", "body": b"a", "more_body": not is_last})
            seen.append(admission._taken == 1)

    async def receive() -> Message:
        raise AssertionError

    async def send(_: Message) -> None: ...

    admission.ask(lambda: True, lambda: None)
    scope = {SEND_WHOLE: lambda _, __: False}
    await AdmittedRequest(app, connection, admission, lambda: False)(scope, receive, send)  # type: ignore[arg-type]
    assert seen == [holds, holds and not goes_slow, False]


async def test_reads_of_an_address_that_does_not_read_its_answers_wait_and_money_does_not(
    start_registry: StartRegistry,
):
    reads = Admission(timeout_seconds=0.5, is_for_reads=True)
    unsent = UnsentAnswers(bytes_max=1000 * ADDRESSES_TO_FILL)
    bounds = ConnectionBounds(unsent=unsent)
    async with listen_with(start_registry, bounds, AddressCounts(100, exempt=[])) as listening:
        app = listening.registry.app
        budgets = Budgets(app, app.direct, Admissions(reads=reads))
        BUDGETS.put(listening.registry.runtime, budgets)
        agent = await listening.registry.agent()
        lagging = Lagging(501)
        unsent.add(lagging, "127.0.0.1")
        async with httpx2.AsyncClient(base_url=f"http://{listening.place}") as http:
            assert (await http.get("/api/v1/teg/fees/config")).status_code == 503
            assert (await http.get(BALANCE, headers=agent.headers)).status_code == 200
            assert (await http.get("/livez")).status_code == 200
            reads.timeout_seconds = PATIENCE_SECONDS
            waiting = asyncio.create_task(http.get("/api/v1/teg/fees/config"))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            unsent.remove(lagging)
            assert (await waiting).status_code == 200
        unsent.add(Lagging(501), "192.0.2.1")
        async with httpx2.AsyncClient(base_url=f"http://{listening.place}") as http:
            assert (await http.get("/api/v1/teg/fees/config")).status_code == 200


async def test_two_hundred_clients_of_one_address_that_read_their_long_answers_all_get_them(
    start_registry: StartRegistry,
):
    path, clients = "/docs", 200
    # No more than a few of them may be behind at once.
    bounds = ConnectionBounds(unsent=UnsentAnswers(bytes_max=ADDRESSES_TO_FILL << 20))
    async with listen_with(start_registry, bounds, AddressCounts(clients, exempt=[])) as listening:
        app = listening.registry.app
        reads = Admission(timeout_seconds=PATIENCE_SECONDS, is_for_reads=True)
        BUDGETS.put(listening.registry.runtime, Budgets(app, app.direct, Admissions(reads=reads)))
        asked = b"GET %b HTTP/1.1\r\nHost: registry.test\r\nConnection: close\r\n\r\n" % path.encode()
        answers = await asyncio.gather(*(listening.answers(asked) for _ in range(clients)))
        assert {answer.partition(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 200 OK"}
        assert len({len(answer) for answer in answers}) == 1
        assert len(answers[0]) > LONG_ANSWER_BYTES


async def test_a_slow_sender_holds_no_place(crowded: Crowded, monkeypatch: pytest.MonkeyPatch):
    received, are_received = bytearray(), asyncio.Event()
    receive = ConnectionProtocol.data_received

    def received_and_noted(connection: ConnectionProtocol, data: bytes) -> None:
        receive(connection, data)
        received.extend(data)
        are_received.set()

    monkeypatch.setattr(ConnectionProtocol, "data_received", received_and_noted)
    payee = await crowded.registry.agent()
    whole = crowded.request("POST", TRANSFER, transfer_to(payee, "1"))
    async with crowded.connected() as slow, crowded.connected() as quick:
        slow.send(whole[:-5])
        async with asyncio.timeout(PATIENCE_SECONDS):
            while bytes(received) != whole[:-5]:
                await are_received.wait()
                are_received.clear()
        quick.send(whole)
        assert (await quick.answer())[0] == 200
        slow.send(whole[-5:])
        assert (await slow.answer())[0] == 200


async def test_a_body_too_large_to_be_kept_waiting_is_judged_at_once(crowded: Crowded):
    crowded.take_the_place()
    async with crowded.connected() as line:
        line.send(crowded.request("POST", TRANSFER, b'"' + b"x" * 300_000 + b'"'))
        assert (await line.answer())[0] == 422
        line.send(crowded.request("POST", TRANSFER, b'"' + b"x" * 3_000_000 + b'"'))
        assert (await line.answer())[0] == 413


async def test_who_asks_whether_to_send_the_body_is_answered(crowded: Crowded):
    payee = await crowded.registry.agent()
    body = transfer_to(payee, "1")
    async with crowded.connected() as line:
        whole = crowded.request("POST", TRANSFER, body, "Expect: 100-continue")
        line.send(whole[: -len(body)])
        assert (await line.answer())[0] == 100
        line.send(body)
        assert (await line.answer())[0] == 200


async def test_what_a_client_asked_that_went_away_before_its_turn_is_not_done(crowded: Crowded):
    payee = await crowded.registry.agent()
    crowded.take_the_place()
    crowded.let_wait()
    async with crowded.connected() as leaving:
        leaving.send(crowded.request("POST", TRANSFER, transfer_to(payee, "1")))
        await crowded.waiting(1)
    await asyncio.sleep(0.02)
    crowded.admission.leave()
    async with crowded.connected() as line:
        line.send(crowded.request("GET", BALANCE))
        assert json.loads((await line.answer())[2])["balance"] == "100"


async def test_a_kind_without_places_keeps_no_other_kind_out(crowded: Crowded):
    full = Admission(places=0, timeout_seconds=0)
    app = crowded.registry.app
    for kind, path in (
        ("search", "/api/v1/discover?q=a"),
        ("reads", "/api/v1/teg/fees/config"),
        ("administration", "/api/v1/admin/reactors"),
    ):
        BUDGETS.put(crowded.registry.runtime, Budgets(app, app.direct, Admissions(**{kind: full})))
        async with httpx2.AsyncClient(base_url=f"http://{crowded.place}") as http:
            refused = await http.get(path, headers=crowded.agent.headers)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2"), kind
            assert refused.json()["instance"] == path.partition("?")[0]
            assert (await http.get(BALANCE, headers=crowded.agent.headers)).status_code == 200
            assert (await http.get("/livez")).status_code == 200
            head = await http.head(path, headers=crowded.agent.headers)
            assert (head.status_code == 503, head.content) == (kind != "search", b"")


def test_the_searches_and_what_is_not_counted_are_routes(tmp_path: Path):
    routes = {(entrance.method, entrance.path) for entrance in entrances(empty_app(tmp_path))}
    assert routes >= SEARCHES
    assert {path for _, path in routes} >= UNCOUNTED
