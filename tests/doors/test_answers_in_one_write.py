"""Output of a connection for a direct route, in one write or in several, and the date of each response."""

import gc
import re
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from hansa.doors.http.connection.bounds import ConnectionBounds
from hansa.doors.http.connection.http_connections import ConnectionProtocol
from hansa.doors.serving import serve
from tests.doors.wires import HOST, LIVEZ, Listening, listen_with
from tests.registry import StartRegistry

# These differ from one answer to the next.
VARYING = re.compile(rb"(date|x-request-id): (?!mine)[^\r]+")
CLOSE = b"Connection: close\r\n"


@pytest.fixture
async def listening(start_registry: StartRegistry) -> AsyncIterator[Listening]:
    async with listen_with(start_registry, ConnectionBounds()) as listening:
        yield listening


async def test_an_answer_in_one_write_is_the_same_as_in_several(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
):
    agent = await listening.registry.agent()
    token = f"Authorization: {agent.headers['Authorization']}\r\n".encode()
    asked = b"GET /api/v1/teg/balance HTTP/1.1\r\n" + HOST + token
    every_request = [
        asked + b"\r\n" + asked + CLOSE + b"\r\n",
        asked.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n",
        asked.replace(b"GET", b"HEAD") + CLOSE + b"\r\n",
        asked + b"X-Request-Id: mine\r\n" + CLOSE + b"\r\n",
    ]
    send_whole, was_sent = ConnectionProtocol._send_whole, []

    def noted(*given: Any) -> bool:
        was_sent.append(send_whole(*given))
        return was_sent[-1]

    monkeypatch.setattr(ConnectionProtocol, "_send_whole", noted)
    in_one = [await listening.answers(one) for one in every_request]
    monkeypatch.setattr(ConnectionProtocol, "_send_whole", lambda *_: False)
    in_several = [await listening.answers(one) for one in every_request]
    assert was_sent == [True, True, True, False, True]
    assert [VARYING.sub(rb"\1", one) for one in in_one] == [VARYING.sub(rb"\1", one) for one in in_several]


async def test_an_answer_of_a_direct_route_has_the_status_of_its_endpoint(listening: Listening):
    agent = await listening.registry.agent()
    body = b'{"contract_type": "service", "title": "A manual", "amount": "1", "terms": "", "acceptance_criteria": ""}'
    fields = f"Authorization: {agent.headers['Authorization']}\r\nContent-Length: {len(body)}\r\n".encode()
    wire = await listening.connect()
    await wire.send(
        b"POST /api/v1/contracts HTTP/1.1\r\nContent-Type: application/json\r\n"
        + HOST
        + fields
        + b"\r\n"
        + body
    )
    status, _, text = await wire.answer()
    assert status == 201, text


async def test_a_response_bears_the_date_of_its_second(listening: Listening, monkeypatch: pytest.MonkeyPatch):
    wire = await listening.connect()
    dates = []
    for second in (1_800_000_000, 1_800_000_000, 1_800_007_201):
        monkeypatch.setattr(serve, "time", lambda second=second: second + 0.5)
        await wire.send(LIVEZ + b"\r\n")
        _, fields, _ = await wire.answer()
        dates.append(fields["date"])
    assert dates == [
        "fri, 15 jan 2027 08:00:00 gmt",
        "fri, 15 jan 2027 08:00:00 gmt",
        "fri, 15 jan 2027 10:00:01 gmt",
    ]


async def test_an_answered_request_leaves_nothing_to_the_garbage_collector(listening: Listening):
    agent = await listening.registry.agent()
    token = f"Authorization: {agent.headers['Authorization']}\r\n".encode()
    wire = await listening.connect()
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            await wire.send(b"GET /api/v1/teg/balance HTTP/1.1\r\n" + HOST + token + b"\r\n")
            assert (await wire.answer())[0] == 200
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [one for one in gc.garbage if isinstance(one, RequestResponseCycle)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []


async def test_a_body_is_taken_however_it_comes_and_received_only_where_it_is_waited_for(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
):
    payer, payee = await listening.registry.agent(), await listening.registry.agent()
    body = f'{{"receiver_agent_id":"{payee.did}","amount":"1"}}'.encode()
    head = b"POST /api/v1/teg/transfer HTTP/1.1\r\nContent-Type: application/json\r\n" + HOST
    head += f"Authorization: {payer.headers['Authorization']}\r\n".encode() + CLOSE
    sized = head + b"Content-Length: %d\r\n" % len(body)
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    before = Decimal(await payee.balance())
    receive, received = RequestResponseCycle.receive, []

    async def noted(cycle: RequestResponseCycle) -> Any:
        received.append(cycle)
        return await receive(cycle)

    monkeypatch.setattr(RequestResponseCycle, "receive", noted)
    for pieces in ([sized + b"\r\n" + body], [sized + b"\r\n", body[:9], body[9:]], [chunked]):
        answered = await listening.answers(*pieces)
        assert answered.startswith(b"HTTP/1.1 200"), answered
    assert not received
    answered = await listening.answers(sized + b"Expect: 100-continue\r\n\r\n", body)
    assert answered.startswith(b"HTTP/1.1 100"), answered
    assert b"HTTP/1.1 200" in answered, answered
    assert received
    assert Decimal(await payee.balance()) == before + 4
