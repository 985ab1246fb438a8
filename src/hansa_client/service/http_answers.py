"""Answers over HTTP: kept as one sequence of bytes, recorded while an application sends them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import msgspec

from hansa_client.delivery import SUCCESS_MAX, is_delivered

Message = MutableMapping[str, Any]
Headers = list[tuple[bytes, bytes]]

EVENT_STREAM = b"text/event-stream"
STREAMED_TYPES = (EVENT_STREAM, b"application/x-ndjson", b"application/stream+json")
# They describe one connection, or are computed anew for a stored answer.
NOT_KEPT = frozenset(
    {b"connection", b"transfer-encoding", b"content-length", b"date", b"server", b"keep-alive"}
)
FAILED_BODY = (
    b'{"type": "about:blank", "title": "Internal server error", "status": 500, "code": "WORK_FAILED", '
    b'"detail": "The work failed; the payment is not collected."}'
)


@dataclass(frozen=True)
class HttpAnswer:
    """A whole answer."""

    status: int
    headers: Headers
    body: bytes

    @classmethod
    def of(cls, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> "HttpAnswer":
        """An answer of the kit itself."""
        return cls(status, _encoded(headers), body)

    @classmethod
    def unpacked(cls, packed: bytes) -> "HttpAnswer":
        """A stored answer."""
        status, headers, body = msgspec.msgpack.decode(
            packed, type=tuple[int, list[tuple[bytes, bytes]], bytes]
        )
        return cls(status, headers, body)

    def packed(self) -> bytes:
        """The bytes to store."""
        return msgspec.msgpack.encode((self.status, self.headers, self.body))

    @property
    def is_success(self) -> bool:
        """Return whether its status counts as delivered work."""
        return is_delivered(self.status)

    def with_headers(self, more: Iterable[tuple[str, str]]) -> "HttpAnswer":
        """The same answer with further headers."""
        return HttpAnswer(self.status, [*self.headers, *_encoded(more)], self.body)

    def messages(self) -> tuple[Message, Message]:
        """Return the messages for an ASGI server."""
        headers = [*self.headers, (b"content-length", str(len(self.body)).encode())]
        return (
            {"type": "http.response.start", "status": self.status, "headers": headers},
            {"type": "http.response.body", "body": self.body, "more_body": False},
        )


def _encoded(headers: Iterable[tuple[str, str]]) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


class Recorder:
    """Takes the messages that an application sends. `is_kept` says whether the request is paid, once its answer begins."""

    def __init__(
        self, limit: int, is_kept: Callable[[], bool], pass_on: Callable[[Message], Awaitable[None]]
    ) -> None:
        self.ended = asyncio.Event()
        self.is_complete = False
        self.is_too_large = False
        self.was_passed_on = False
        self._limit, self._is_kept, self._pass_on = limit, is_kept, pass_on
        self._start: Message | None = None
        self._chunks: list[bytes] = []
        self._length = 0

    async def take(self, message: Message) -> None:
        """One message of the application."""
        if not self._is_kept():
            await self._pass_on(message)
        elif message["type"] == "http.response.start":
            self._start = message
        elif message["type"] == "http.response.body":
            await self._keep(message)

    def fail(self) -> None:
        """Record a failure: the application raised, and its earlier messages count no more."""
        self.is_complete = False
        self._start = {"status": 500, "headers": [(b"content-type", b"application/problem+json")]}
        self._chunks = [FAILED_BODY]
        self.ended.set()

    def answer(self) -> HttpAnswer:
        """Return the recorded answer; a failure where the application sent no whole one."""
        if self._start is None or not (self.is_complete or self._start["status"] > SUCCESS_MAX):
            self.fail()
        start: Mapping[str, Any] = self._start or {}
        headers = [(bytes(name), bytes(value)) for name, value in start.get("headers", ())]
        kept = [(name, value) for name, value in headers if name.lower() not in NOT_KEPT]
        return HttpAnswer(start["status"], kept, b"".join(self._chunks))

    async def _keep(self, message: Message) -> None:
        chunk, more = message.get("body", b""), message.get("more_body", False)
        self._length += len(chunk)
        self.is_too_large = self._length > self._limit
        if not self.is_too_large:
            self._chunks.append(chunk)
        if more and self._is_stream() and not self.was_passed_on and self._start:
            self.was_passed_on = True
            await self._pass_on(self._start)
        if self.was_passed_on and chunk and not self.is_too_large:
            await self._pass_on({"type": "http.response.body", "body": chunk, "more_body": True})
        if not more:
            self.is_complete = not self.is_too_large
            self.ended.set()

    @property
    def is_of_events(self) -> bool:
        """Return whether it is a stream of events, in which comments may stand."""
        return self._content_type().startswith(EVENT_STREAM)

    def _is_stream(self) -> bool:
        return self._content_type().startswith(STREAMED_TYPES)

    def _content_type(self) -> bytes:
        headers = {
            bytes(name).lower(): bytes(value) for name, value in (self._start or {}).get("headers", ())
        }
        return headers.get(b"content-type", b"")
