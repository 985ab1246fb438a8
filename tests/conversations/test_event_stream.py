"""The public stream of events at /events/stream: live, filtered, resumed by the last id received."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from hansa.rooms import journal
from hansa.rooms.journal.feed import messages, public_stream
from tests.registry import TestRegistry


@dataclass
class Message:
    """One server-sent event."""

    id: str
    kind: str
    data: dict


class Reader:
    """A client of the stream as the standard describes one: comments ignored, the id kept."""

    def __init__(self, answer: httpx2.Response) -> None:
        self.answer = answer
        self.lines = answer.aiter_lines()
        self.last_id = ""

    async def next(self) -> Message | None:
        """The next message with data; None when the stream has ended."""
        kind, data = "message", ""
        async for line in self.lines:
            name, _, value = line.partition(": ")
            if name == "id":
                self.last_id = value
            elif name == "event":
                kind = value
            elif name == "data":
                data = value
            elif not line and data:
                return Message(self.last_id, kind, json.loads(data))
        return None


@asynccontextmanager
async def reading(host: str, query: str = "", last_id: str | None = None) -> AsyncIterator[Reader]:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    async with (
        httpx2.AsyncClient(timeout=60) as client,
        client.stream("GET", f"http://{host}/events/stream{query}", headers=headers) as answer,
    ):
        assert answer.status_code == 200
        reader = Reader(answer)
        # The first line is sent before anything is read, the place in the feed is taken.
        assert (await anext(reader.lines)).startswith("retry:")
        yield reader


async def position_of(registry: TestRegistry) -> str:
    await registry.transactions_ended()
    return (await registry.http.get("/events.json")).json()["live_from"]


async def test_a_stream_sends_public_events_as_they_are_committed(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    after = await position_of(registry)
    async with registry.listening() as host, reading(host, f"?after={after}") as reader:
        kind = reader.answer.headers["content-type"]
        assert kind.startswith("text/event-stream")
        assert reader.answer.headers["x-accel-buffering"] == "no"
        assert "no-transform" in reader.answer.headers["cache-control"]
        await payer.transfer(payee, "1", message="unseen")
        received = [await reader.next() for _ in range(3)]
    assert [message.data["event_type"] for message in received] == [
        *("LedgerBalanceChanged", "TokensTransferred", "TransactionFeeCollected"),
    ]
    assert "unseen" not in json.dumps([message.data for message in received])


async def test_a_stream_is_filtered_by_type_and_did(registry: TestRegistry):
    payer, payee, other = [await registry.agent() for _ in range(3)]
    after = await position_of(registry)
    query = f"?type=TokensTransferred&did={payee.did}&after={after}"
    async with registry.listening() as host, reading(host, query) as reader:
        await payer.transfer(other, "1")
        await payer.transfer(payee, "2")
        message = await reader.next()
    assert (message.data["event_type"], message.data["data"]["amount"]) == ("TokensTransferred", "2")


async def test_a_stream_resumed_by_its_last_id_misses_nothing_and_repeats_nothing(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    after = await position_of(registry)
    query = f"?type=TokensTransferred&after={after}"
    async with registry.listening() as host:
        await payer.transfer(payee, "1")
        async with reading(host, query) as reader:
            amounts = [(await reader.next()).data["data"]["amount"]]
            last_id = reader.last_id
        for amount in ("2", "3"):
            await payer.transfer(payee, amount)
        async with reading(host, query, last_id) as reader:
            await payer.transfer(payee, "4")
            amounts += [(await reader.next()).data["data"]["amount"] for _ in range(3)]
    assert amounts == ["1", "2", "3", "4"]


async def test_a_reader_that_missed_too_much_is_notified_of_a_gap(registry, monkeypatch):
    monkeypatch.setattr(public_stream, "MISSED_MAX", 4)
    monkeypatch.setattr(public_stream, "READ_AT_ONCE", 4)
    payer, payee = await registry.agent(), await registry.agent()
    after = await position_of(registry)
    for _ in range(4):
        await payer.transfer(payee, "1")
    await registry.transactions_ended()
    async with registry.listening() as host, reading(host, f"?after={after}") as reader:
        received = [await reader.next() for _ in range(5)]
        assert [message.kind for message in received] == [*(["message"] * 4), "gap"]
        await payer.transfer(payee, "7")
        assert (await reader.next()).data["data"]["entries"][1]["delta"] == "7"


async def test_a_silent_stream_keeps_its_connection_and_its_position_alive(registry, monkeypatch):
    monkeypatch.setattr(public_stream, "KEEP_ALIVE_SECONDS", 0.01)
    payer, payee = await registry.agent(), await registry.agent()
    async with registry.listening() as host, reading(host, "?type=AgentRevoked") as reader:
        first = [line async for line in _until(reader, "id: ")]
        assert ": keep-alive" in first
        await payer.transfer(payee, "1")
        await registry.transactions_ended()
        beginning = first[-1]
        async for line in reader.lines:
            if line.startswith("id: ") and line != beginning:
                break


async def _until(reader: Reader, beginning: str) -> AsyncIterator[str]:
    async for line in reader.lines:
        yield line
        if line.startswith(beginning):
            return


async def test_a_reader_that_falls_behind_is_ended_and_holds_up_nobody(registry, monkeypatch):
    monkeypatch.setattr(messages, "WAITING_MAX", 2)
    payer, payee = await registry.agent(), await registry.agent()
    after = await position_of(registry)
    async with registry.listening() as host, reading(host, f"?after={after}") as reader:
        # One commit records three events at once.
        await payer.transfer(payee, "1")
        assert await reader.next() is None


async def test_streams_end_when_the_process_stops(registry: TestRegistry):
    async with registry.listening() as host, reading(host) as reader:
        journal.LIVE_FEED.of(registry.runtime).end_streams()
        async with asyncio.timeout(30):
            assert await reader.next() is None
        async with reading(host) as late:
            assert await late.next() is None


async def test_head_is_refused_where_an_answer_has_no_end(registry: TestRegistry):
    answer = await registry.http.head("/events/stream")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


async def test_an_invalid_last_id_is_refused(registry):
    for bad in ("x", "AAAA", "////"):
        answer = await registry.http.get("/events/stream", headers={"Last-Event-ID": bad})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "CURSOR_INVALID")
