"""Events as an iterator that resumes: none is lost and none is repeated, whatever the network does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hansa_client import AgentCredentials, asynchronous, synchronous
from hansa_client.errors import Forbidden
from tests.client.both import Client
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.registry import TestAgent, TestRegistry

EVENTS = "/api/v1/agents/me/events"
TICKET = "/api/v1/ws/ticket"
HEAR_SECONDS = 120


class Following:
    """An iterator of either client."""

    def __init__(self, following: Any) -> None:
        self.iterator = following

    async def next(self) -> Any:
        async with asyncio.timeout(HEAR_SECONDS):
            if hasattr(self.iterator, "__anext__"):
                return await anext(self.iterator)
            return await asyncio.to_thread(next, self.iterator)

    async def until_refused(self) -> None:
        while True:
            await self.next()

    async def many(self, count: int) -> list[Any]:
        return [await self.next() for _ in range(count)]


@asynccontextmanager
async def following(client: Client, **options: Any) -> AsyncIterator[Following]:
    iterator = client.unwrapped.events.follow(**options)
    try:
        yield Following(iterator)
    finally:
        if hasattr(iterator, "aclose"):
            await iterator.aclose()
        else:
            await asyncio.to_thread(iterator.close)


def client_of(connect: Open, agent: TestAgent) -> Client:
    created = agent.created
    return connect(agent=AgentCredentials(created["client_id"], created["client_secret"]))


async def listening(faults: Faults) -> None:
    """Wait until the reader has its place and asks to be notified."""
    async with asyncio.timeout(HEAR_SECONDS):
        while not any(request.url.path == TICKET for request in faults.sent):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def in_the_store(agent: TestAgent) -> list[str]:
    path = f"/events/aggregate/{agent.did}"
    answer = await agent.registry.get(path, params={"limit": 1000}, headers=agent.registry.internal)
    return [event["id"] for event in answer.json()["items"]]


async def test_what_happens_while_one_follows_is_received_by_the_live_feed(
    connect: Open, faults: Faults, registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    for module in (asynchronous.events, synchronous.events):
        # Nothing but the feed wakes the reader.
        monkeypatch.setattr(module, "LOOK_WITH_FEED_SECONDS", 3600)
        monkeypatch.setattr(module, "LOOK_WITHOUT_FEED_SECONDS", 3600)
    payer, payee = await registry.agent(), await registry.agent()
    await registry.transactions_ended()
    async with following(client_of(connect, payee)) as events:
        first = asyncio.create_task(events.many(2))
        await listening(faults)
        assert (await payer.transfer(payee, "1")).status_code == 200
        received = await first
        assert {event.event_type for event in received} == {"LedgerBalanceChanged", "TokensTransferred"}


async def test_the_whole_history_is_read_from_the_beginning(connect: Open, registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    for _ in range(60):
        assert (await payer.transfer(payee, "0.1")).status_code == 200
    await registry.transactions_ended()
    stored = await in_the_store(payer)
    assert len(stored) > 150
    async with following(client_of(connect, payer), from_beginning=True) as events:
        assert [event.id for event in await events.many(len(stored))] == stored


async def test_after_a_crash_one_goes_on_behind_the_last_event_that_was_processed(
    connect: Open, registry: TestRegistry
):
    payer, payee = await registry.agent(), await registry.agent()
    for _ in range(5):
        assert (await payer.transfer(payee, "0.1")).status_code == 200
    await registry.transactions_ended()
    stored = await in_the_store(payer)
    processed: list[str] = []
    position: str | None = None
    while len(processed) < len(stored):
        # Each of these readers ends after two events, with a page of others already received.
        options = {"after": position} if position else {"from_beginning": True}
        async with following(client_of(connect, payer), **options) as events:
            for event in await events.many(min(2, len(stored) - len(processed))):
                processed.append(event.id)
                position = event.position
    assert processed == stored


@pytest.mark.parametrize("fault", ["answer lost", "503", "request lost"])
async def test_a_lost_answer_loses_no_event_and_repeats_none(
    fault: str, connect: Open, faults: Faults, registry: TestRegistry
):
    payer, payee = await registry.agent(), await registry.agent()
    assert (await payer.transfer(payee, "0.1")).status_code == 200
    await registry.transactions_ended()
    stored = await in_the_store(payer)
    faults.next(EVENTS, fault, "", fault)
    async with following(client_of(connect, payer), from_beginning=True) as events:
        assert [event.id for event in await events.many(len(stored))] == stored


async def test_while_there_is_no_live_feed_the_store_is_looked_into(
    connect: Open, faults: Faults, registry: TestRegistry
):
    payer, payee = await registry.agent(), await registry.agent()
    await registry.transactions_ended()
    faults.next(TICKET, *["request lost"] * 100)
    async with following(client_of(connect, payee)) as events:
        received = asyncio.create_task(events.many(2))
        await listening(faults)
        assert (await payer.transfer(payee, "1")).status_code == 200
        assert len(await received) == 2


async def test_an_agent_that_is_suspended_meanwhile_is_refused(
    connect: Open, faults: Faults, registry: TestRegistry
):
    administrator = await registry.administrator("admin_enforcement")
    agent = await registry.agent()
    await registry.transactions_ended()
    async with following(client_of(connect, agent)) as events:
        waiting = asyncio.create_task(events.until_refused())
        await listening(faults)
        body = {"agent_dids": [agent.did], "reason": "Test", "soft_suspend": True}
        answer = await registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
        assert answer.status_code == 200, answer.text
        with pytest.raises(Forbidden):
            await waiting
