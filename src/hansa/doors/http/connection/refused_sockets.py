"""Connections refused when they are accepted: answered at once, closed a while later.

A client that opens connections in a loop opens the next one when the last one is closed. While it is held, a refused
connection costs an open file and nothing else; closed at once, it would cost as many accepts as the client can cause.
The bytes of its client are never read, and the system keeps only a few kilobytes of it. A thousand that were refused
together are closed a few at a time: closing one costs as much as accepting it.
"""

import asyncio
import contextlib
import socket
from collections import deque

HELD_SECONDS = 15.0
HELD_MAX = 4096
CLOSED_AT_ONCE_MAX = 16
CLOSING_PAUSE_SECONDS = 0.05
RECEIVE_BUFFER_BYTES = 4096
TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nretry-after: 5\r\nconnection: close\r\n\r\n"
)


class RefusedSockets:
    """Those of one listening socket, oldest first. Used by its event loop alone."""

    def __init__(self, *, held_seconds: float = HELD_SECONDS, held_max: int = HELD_MAX) -> None:
        self._loop = asyncio.get_running_loop()
        self._held_seconds = held_seconds
        self._held_max = held_max
        self._held: deque[tuple[float, socket.socket]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._held)

    def refuse(self, connection: socket.socket, *, is_plain: bool) -> None:
        """Answer 429 where the client speaks plain HTTP, and close later; at once while too many are held."""
        try:
            if is_plain:
                connection.send(TOO_MANY)
            if len(self._held) >= self._held_max:
                connection.close()
                return
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        except OSError:
            connection.close()
            return
        self._held.append((self._loop.time() + self._held_seconds, connection))
        if self._timer is None:
            self._timer = self._loop.call_later(self._held_seconds, self._close_the_oldest)

    def close(self) -> None:
        """Close all of them."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._held:
            self._close_one()

    def _close_the_oldest(self) -> None:
        self._timer = None
        now = self._loop.time()
        closed = 0
        while self._held and self._held[0][0] <= now and closed < CLOSED_AT_ONCE_MAX:
            self._close_one()
            closed += 1
        if self._held:
            pause = max(self._held[0][0] - now, CLOSING_PAUSE_SECONDS)
            self._timer = self._loop.call_later(pause, self._close_the_oldest)

    def _close_one(self) -> None:
        with contextlib.suppress(OSError):
            self._held.popleft()[1].close()
