"""Answers that are long are written piece by piece, as fast as the client reads.

One write of all of it would count as unread at once, also where the client reads: an answer larger than the room of its address would be
cut off for every client.
"""

import asyncio
from typing import Any, Protocol

from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl

# A longer answer keeps its place while it is written: of a thousand at once, few are written.
LONG_ANSWER_BYTES = 1 << 16
EVENT_STREAM = b"text/event-stream"


class HoldingConnection(Protocol):
    """A connection, and how many bytes of the answer under way are not written to its transport yet."""

    held_bytes: int

    @property
    def flow(self) -> FlowControl: ...


class RequestInPieces:
    """The application for one request, whose long bodies are written piece by piece."""

    __slots__ = ("_app", "_connection", "_send")

    def __init__(self, app: Any, connection: HoldingConnection) -> None:
        self._app, self._connection = app, connection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send = send
        await self._app(scope, receive, self._send_in_pieces)

    async def _send_in_pieces(self, message: Message) -> None:
        body = message.get("body", b"")
        if len(body) <= LONG_ANSWER_BYTES:
            self._before(message)
            await self._send(message)
            return
        try:
            for start in range(0, len(body), LONG_ANSWER_BYTES):
                end = start + LONG_ANSWER_BYTES
                follows = message.get("more_body", False) or end < len(body)
                piece = {**message, "body": body[start:end], "more_body": follows}
                self._connection.held_bytes = max(0, len(body) - end)
                self._before(piece)
                await self._send(piece)
                # The connection writes at the end of this step, and sees only then whether its client is behind.
                await asyncio.sleep(0)
        finally:
            self._connection.held_bytes = 0

    def _before(self, message: Message) -> None:
        """A message is about to be sent."""


def is_long(started: Message) -> bool:
    """Return whether an answer may be long and ends: it states so many bytes, or it is sent in pieces and is no stream of events."""
    fields = {name.lower(): value for name, value in started["headers"]}
    if (length := fields.get(b"content-length")) is not None:
        return int(length) > LONG_ANSWER_BYTES
    return not fields.get(b"content-type", b"").startswith(EVENT_STREAM)
