"""The events of an agent, as an iterator that resumes.

Events come from the event store, in its order and each with its position; the live feed only reports that there are new ones. An
answer or a connection that is lost therefore neither loses an event nor repeats one.
"""

from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

import httpx2
from httpx2.websockets import AsyncWebSocketSession, HTTPXWSException

from hansa_client.calls import Call
from hansa_client.errors import HansaError
from hansa_client.primitives import NOTHING_RECEIVED, AsyncBackground, AsyncSignal
from hansa_client.records.agents import AgentSelf
from hansa_client.records.events import Event, EventsPage, FeedTicket
from hansa_client.sending import AsyncSender

from .session import AsyncSession
from .transport import AsyncTransport

PAGE = 100
# The feed sends a keep-alive within a minute; a reader that receives nothing looks into the store all the same.
LOOK_WITH_FEED_SECONDS = 30.0
LOOK_WITHOUT_FEED_SECONDS = 2.0
RECONNECT_SECONDS = 2.0
# How often the listener looks whether it is to end.
LISTEN_SECONDS = 0.5
SILENT_LISTENS_MAX = 150


class AsyncEvents:
    """Events of the agent that this client acts for."""

    def __init__(self, transport: AsyncTransport, sender: AsyncSender, agent: AsyncSession) -> None:
        self._transport = transport
        self._sender = sender
        self._agent = agent

    async def page(
        self, *, after: str | None = None, from_end: bool = False, limit: int = PAGE
    ) -> EventsPage:
        """Events after a position, the oldest first; without one from the beginning, or only the end's position."""
        query = {"next": after, "start": "end" if from_end and after is None else None, "limit": limit}
        call = Call("GET", "/api/v1/agents/me/events", query=query)
        return await self._transport.answer(call, EventsPage, self._agent)

    def follow(self, *, after: str | None = None, from_beginning: bool = False) -> "AsyncFollowing":
        """An endless iterator over events after a position; without one over those from now on, or over all.

        Store the `position` of each event once it is processed: after a crash, follow again from there.
        """
        feed = AsyncFeed(self._transport, self._sender, self._agent)
        return AsyncFollowing(self, feed, after=after, from_beginning=from_beginning)


class AsyncFollowing:
    """Events one by one. Close it, or use it as a context manager."""

    def __init__(
        self, events: AsyncEvents, feed: "AsyncFeed", *, after: str | None, from_beginning: bool
    ) -> None:
        self.position = after
        """The position after the last event that was returned; None before the beginning."""
        self._events = events
        self._feed = feed
        self._from_end = after is None and not from_beginning
        self._ready: deque[Event] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """The next event, as soon as there is one. Raises: Refusal when the agent may not read any more."""
        while not self._ready:
            page = await self._events.page(after=self.position, from_end=self._from_end)
            self._from_end = False
            self._ready.extend(page.items)
            if not page.items:
                # Events that the agent may not see are behind it as well.
                self.position = page.position
                if page.is_last:
                    await self._feed.wait()
        event = self._ready.popleft()
        self.position = event.position
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening."""
        await self._feed.aclose()


class AsyncFeed:
    """Listens to the live feed beside the reader, from the first wait on, through every loss of the connection."""

    def __init__(self, transport: AsyncTransport, sender: AsyncSender, agent: AsyncSession) -> None:
        self._transport = transport
        self._sender = sender
        self._agent = agent
        self._news = AsyncSignal()
        self._pause = AsyncSignal()
        self._background: AsyncBackground | None = None
        self._is_connected = False
        self._is_closed = False

    async def wait(self) -> None:
        """Return when there may be new events."""
        if self._background is None:
            self._background = AsyncBackground(self._listen)
        await self._news.wait(LOOK_WITH_FEED_SECONDS if self._is_connected else LOOK_WITHOUT_FEED_SECONDS)

    async def aclose(self) -> None:
        """Stop listening."""
        self._is_closed = True
        self._pause.set()
        if self._background is not None:
            await self._background.stop()

    async def _listen(self) -> None:
        while not self._is_closed:
            # The reader looks into the store meanwhile, and meets what is final there.
            with suppress(HansaError, HTTPXWSException, httpx2.HTTPError, OSError, ExceptionGroup):
                await self._hear()
            self._is_connected = False
            if not self._is_closed:
                await self._pause.wait(RECONNECT_SECONDS)

    async def _hear(self) -> None:
        me = await self._transport.answer(Call("GET", "/api/v1/agents/me"), AgentSelf, self._agent)
        request = Call("POST", "/api/v1/ws/ticket", json={}, is_idempotent=True)
        ticket = await self._transport.answer(request, FeedTicket, self._agent)
        async with self._sender.client().websocket("/ws/events", params={"token": ticket.ticket}) as socket:
            await socket.send_json({"action": "subscribe", "channel": f"agent:{me.did}"})
            await self._hear_socket(socket)

    async def _hear_socket(self, socket: AsyncWebSocketSession) -> None:
        silent = 0
        while not self._is_closed and silent < SILENT_LISTENS_MAX:
            try:
                message = await socket.receive_json(timeout=LISTEN_SECONDS)
            except NOTHING_RECEIVED:
                silent += 1
                continue
            silent = 0
            kind = message.get("type")
            if kind == "subscribed":
                self._is_connected = True
            if kind == "subscribed" or (kind == "event" and not message.get("replay")):
                self._news.set()
            if kind == "resync":
                return
