"""The book of a listing as it changes: an iterator over the live feed that reads the book at its begin and after every loss."""

from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

import httpx2
import msgspec
from httpx2.websockets import AsyncWebSocketSession, HTTPXWSException

from hansa_client.calls import Call
from hansa_client.errors import HansaError
from hansa_client.live_books import DEPTH, LiveBook
from hansa_client.primitives import NOTHING_RECEIVED, AsyncBackground, AsyncSignal
from hansa_client.records.events import FeedTicket
from hansa_client.records.market import Book, BookChange
from hansa_client.sending import AsyncSender

from .session import AsyncSession
from .transport import AsyncTransport

LISTEN_SECONDS = 0.5
SILENT_LISTENS_MAX = 150
"""The feed sends a keep-alive within a minute."""
WAIT_SECONDS = 30.0
RECONNECT_SECONDS = 2.0


class AsyncBookFollowing:
    """The book after each change. Close it, or use it as a context manager."""

    def __init__(self, transport: AsyncTransport, feed: "AsyncBookFeed", path: str, depth: int) -> None:
        self._transport = transport
        self._feed = feed
        self._path = path
        self._depth = depth
        self._live: LiveBook | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Book:
        """The book as it is now, then as it is after the next change. Raises: NotFound."""
        while True:
            message = await self._feed.next()
            if message is None or self._live is None:
                return await self._read()
            if self._live.take(message):
                return await self._read() if self._live.is_lost else self._live.book(self._depth)
            if self._live.is_lost:
                return await self._read()

    async def _read(self) -> Book:
        """The book is read after the feed has begun: nothing lies between them."""
        call = Call("GET", self._path, query={"depth": DEPTH})
        self._live = LiveBook(await self._transport.answer(call, Book))
        return self._live.book(self._depth)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening."""
        await self._feed.aclose()


class AsyncBookFeed:
    """Listens to the channel of a listing beside the reader, through every loss of the connection."""

    def __init__(
        self, transport: AsyncTransport, sender: AsyncSender, agent: AsyncSession, channel: str
    ) -> None:
        self._transport = transport
        self._sender = sender
        self._agent = agent
        self._channel = channel
        self._news = AsyncSignal()
        self._pause = AsyncSignal()
        self._background: AsyncBackground | None = None
        self._messages: deque[BookChange | None] = deque()
        self._is_known = False
        self._is_closed = False

    async def next(self) -> BookChange | None:
        """The next change; None where the feed has begun anew, so that the book has to be read."""
        if self._background is None:
            self._background = AsyncBackground(self._listen)
        while not self._messages:
            await self._news.wait(WAIT_SECONDS)
        return self._messages.popleft()

    async def aclose(self) -> None:
        """Stop listening."""
        self._is_closed = True
        self._pause.set()
        if self._background is not None:
            await self._background.stop()

    async def _listen(self) -> None:
        while not self._is_closed:
            with suppress(HansaError, HTTPXWSException, httpx2.HTTPError, OSError, ExceptionGroup):
                await self._hear()
            if not self._is_closed:
                # A registry may want to know its readers.
                self._is_known = not self._is_known
                await self._pause.wait(RECONNECT_SECONDS)

    async def _hear(self) -> None:
        params = {"token": await self._ticket()} if self._is_known else {}
        async with self._sender.client().websocket("/ws/events", params=params) as socket:
            await socket.send_json({"action": "subscribe", "channel": self._channel})
            await self._hear_socket(socket)

    async def _ticket(self) -> str:
        request = Call("POST", "/api/v1/ws/ticket", json={}, is_idempotent=True)
        return (await self._transport.answer(request, FeedTicket, self._agent)).ticket

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
                self._put(None)
            elif kind == "event" and message["event"]["event_type"] == "BookChanged":
                self._put(msgspec.convert(message["event"]["data"], BookChange, strict=False))
            elif kind == "resync":
                return

    def _put(self, message: BookChange | None) -> None:
        self._messages.append(message)
        self._news.set()
