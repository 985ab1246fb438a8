# Generated from hansa_client/asynchronous/books.py by `python -m tests.house.synchronous`.
"""The book of a listing as it changes: an iterator over the live feed that reads the book at its begin and after every loss."""

from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

import httpx2
import msgspec
from httpx2.websockets import HTTPXWSException, WebSocketSession

from hansa_client.calls import Call
from hansa_client.errors import HansaError
from hansa_client.live_books import DEPTH, LiveBook
from hansa_client.primitives import NOTHING_RECEIVED, Background, Signal
from hansa_client.records.events import FeedTicket
from hansa_client.records.market import Book, BookChange
from hansa_client.sending import Sender

from .session import Session
from .transport import Transport

LISTEN_SECONDS = 0.5
SILENT_LISTENS_MAX = 150
"""The feed sends a keep-alive within a minute."""
WAIT_SECONDS = 30.0
RECONNECT_SECONDS = 2.0


class BookFollowing:
    """The book after each change. Close it, or use it as a context manager."""

    def __init__(self, transport: Transport, feed: "BookFeed", path: str, depth: int) -> None:
        self._transport = transport
        self._feed = feed
        self._path = path
        self._depth = depth
        self._live: LiveBook | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Book:
        """The book as it is now, then as it is after the next change. Raises: NotFound."""
        while True:
            message = self._feed.next()
            if message is None or self._live is None:
                return self._read()
            if self._live.take(message):
                return self._read() if self._live.is_lost else self._live.book(self._depth)
            if self._live.is_lost:
                return self._read()

    def _read(self) -> Book:
        """The book is read after the feed has begun: nothing lies between them."""
        call = Call("GET", self._path, query={"depth": DEPTH})
        self._live = LiveBook(self._transport.answer(call, Book))
        return self._live.book(self._depth)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._feed.close()


class BookFeed:
    """Listens to the channel of a listing beside the reader, through every loss of the connection."""

    def __init__(self, transport: Transport, sender: Sender, agent: Session, channel: str) -> None:
        self._transport = transport
        self._sender = sender
        self._agent = agent
        self._channel = channel
        self._news = Signal()
        self._pause = Signal()
        self._background: Background | None = None
        self._messages: deque[BookChange | None] = deque()
        self._is_known = False
        self._is_closed = False

    def next(self) -> BookChange | None:
        """The next change; None where the feed has begun anew, so that the book has to be read."""
        if self._background is None:
            self._background = Background(self._listen)
        while not self._messages:
            self._news.wait(WAIT_SECONDS)
        return self._messages.popleft()

    def close(self) -> None:
        """Stop listening."""
        self._is_closed = True
        self._pause.set()
        if self._background is not None:
            self._background.stop()

    def _listen(self) -> None:
        while not self._is_closed:
            with suppress(HansaError, HTTPXWSException, httpx2.HTTPError, OSError, ExceptionGroup):
                self._hear()
            if not self._is_closed:
                # A registry may want to know its readers.
                self._is_known = not self._is_known
                self._pause.wait(RECONNECT_SECONDS)

    def _hear(self) -> None:
        params = {"token": self._ticket()} if self._is_known else {}
        with self._sender.client().websocket("/ws/events", params=params) as socket:
            socket.send_json({"action": "subscribe", "channel": self._channel})
            self._hear_socket(socket)

    def _ticket(self) -> str:
        request = Call("POST", "/api/v1/ws/ticket", json={}, is_idempotent=True)
        return (self._transport.answer(request, FeedTicket, self._agent)).ticket

    def _hear_socket(self, socket: WebSocketSession) -> None:
        silent = 0
        while not self._is_closed and silent < SILENT_LISTENS_MAX:
            try:
                message = socket.receive_json(timeout=LISTEN_SECONDS)
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
