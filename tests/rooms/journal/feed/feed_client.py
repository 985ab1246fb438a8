"""A client of the live feed, over a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from hansa.foundation.events import TokensIssued
from hansa.rooms import journal
from hansa.rooms.journal.feed import LIVE_FEED
from hansa.rooms.journal.feed.store import Place, horizon
from tests.operation.registry_process import until_async
from tests.registry import TestAgent, TestDeveloper, TestRegistry

HEAR_SECONDS = 60.0
QUIET_SECONDS = 0.5
NEWEST = "SELECT xid, seq FROM journal_event ORDER BY xid DESC, seq DESC LIMIT 1"


class Listener:
    """One socket of the feed; every wait has an end."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self._early: list[dict[str, Any]] = []

    async def say(self, **members: object) -> None:
        await self.socket.send(json.dumps(members))

    async def hear(self) -> dict[str, Any]:
        return self._early.pop(0) if self._early else await self._receive()

    async def _receive(self) -> dict[str, Any]:
        async with asyncio.timeout(HEAR_SECONDS):
            return json.loads(await self.socket.recv())

    async def hear_many(self, count: int) -> list[dict[str, Any]]:
        return [await self.hear() for _ in range(count)]

    async def ask(self, **members: object) -> dict[str, Any]:
        await self.say(**members)
        return await self.hear()

    async def subscribe(self, channel: str) -> list[dict[str, Any]]:
        """Return the events of the replay, after the confirmation; other events of that time are heard afterwards."""
        assert await self.ask(action="subscribe", channel=channel) == {
            "type": "subscribed",
            "channel": channel,
        }
        # The answer to a ping stands behind the replay.
        await self.say(action="ping")
        replay = []
        while (heard := await self._receive())["type"] == "event":
            if heard.get("replay"):
                replay.append(heard["event"])
            else:
                self._early.append(heard)
        assert heard == {"type": "pong"}
        return replay

    async def unsubscribe(self, channel: str) -> None:
        """Leave the channel; messages sent before that are dropped."""
        await self.say(action="unsubscribe", channel=channel)
        while (await self.hear())["type"] != "unsubscribed":
            pass

    async def is_quiet(self) -> bool:
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                await self.hear()
        except TimeoutError:
            return True
        return False

    async def ended(self) -> int:
        """The code that the server closed with."""
        async with asyncio.timeout(HEAR_SECONDS):
            await self.socket.wait_closed()
        assert self.socket.close_code is not None
        return self.socket.close_code


@asynccontextmanager
async def open_listener(address: str, token: str = "", **options: Any) -> AsyncIterator[Listener]:
    """A socket that has heard its welcome; in place of a token a whole query can be given."""
    query = token if "=" in token else f"token={token}" if token else ""
    async with connect(f"ws://{address}/ws/events?{query}", proxy=None, **options) as socket:
        listener = Listener(socket)
        assert (await listener.hear())["type"] == "welcome"
        yield listener


async def all_sent(registry: TestRegistry) -> None:
    """Wait until every event of the journal is committed for good, and sent where the journal is followed."""
    feed = LIVE_FEED.of(registry.runtime)
    row = await registry.database.query(lambda tx: tx.fetchrow(NEWEST))
    newest = Place(row["xid"], row["seq"])

    async def is_sent() -> bool:
        if feed._ready.is_set():
            return feed.position >= newest
        return await registry.database.query(horizon) > newest

    await until_async(is_sent)


async def refused_with(address: str, query: str = "", **options: Any) -> tuple[int, str]:
    """Status and code of a handshake that is refused."""
    try:
        async with connect(f"ws://{address}/ws/events{query}", proxy=None, **options):
            raise AssertionError("the handshake was not refused")
    except InvalidStatus as refusal:
        return refusal.response.status_code, json.loads(refusal.response.body)["error"]["code"]


async def ticket_of(caller: TestAgent | TestDeveloper) -> str:
    answer = await caller.registry.post("/ws/ticket", headers=caller.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["ticket"]


def issued(ref: str, padding: str = "") -> TokensIssued:
    """An event that its ref distinguishes from others."""
    nobody = "did:hansa:hansa.local:nobody"
    return TokensIssued(tx_id=0, to=nobody, amount="1", currency=f"AVT{padding}", ref=ref)


async def append(registry: TestRegistry, *refs: str, padding: str = "") -> None:
    """Append an event for each ref, in one commit."""
    events = [issued(ref, padding) for ref in refs]
    await registry.database.transaction(lambda tx: journal.append(tx, *events))
