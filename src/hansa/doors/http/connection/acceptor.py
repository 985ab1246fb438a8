"""Acceptor of connections: many at a turn of the event loop.

The loop's own server accepts one at each turn. Under load a turn takes tens of milliseconds; a client that comes with thousands
of others then waits until the system no longer keeps it, and its first request until TCP tries again, seconds later.

Connections refused when they are accepted: answered at once, closed a while later.

A client that opens connections in a loop opens the next one when the last one is closed. While it is held, a refused
connection costs an open file and nothing else; closed at once, it would cost as many accepts as the client can cause.
The bytes of its client are never read, and the system keeps only a few kilobytes of it. A thousand that were refused
together are closed a few at a time: closing one costs as much as accepting it.
"""

import asyncio
import contextlib
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

import structlog

from hansa.doors.http.connection.per_address import AddressCounts, Place
from hansa.foundation.plumbing.telemetry.metrics import begin, connections_cut_off_total

# So many, that a crowd is soon in, and those who are in wait for some milliseconds only.
ACCEPTED_AT_ONCE_MAX = 256
# The most time that one turn of the event loop accepts connections: accepted ones wait for it.
ACCEPTING_SECONDS = 0.004
# Where no more files may be opened, others must be closed first.
PAUSE_SECONDS = 0.1
HANDSHAKE_SECONDS = 10
LOGGED_EVERY_SECONDS = 1.0
REASONS = {
    "too_many_of_an_address": "an address has too many connections",
    "blocked_address": "an address is blocked: its connections were refused too often",
}
_log = structlog.get_logger()
begin(connections_cut_off_total, (*REASONS, "failed_handshake"))
HELD_SECONDS = 15.0
HELD_MAX = 4096
CLOSED_AT_ONCE_MAX = 16
CLOSING_PAUSE_SECONDS = 0.05
RECEIVE_BUFFER_BYTES = 4096
TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nretry-after: 5\r\nconnection: close\r\n\r\n"
)


class Placed(asyncio.Protocol):
    """A connection that frees its place when it is lost."""

    place: Place | None = None


class Handshakes(Protocol):
    """The TLS of a listener."""

    @property
    def context(self) -> ssl.SSLContext:
        """For the next handshake."""


class ConnectionAcceptor:
    """Takes in the connections of one listening socket, as `asyncio.Server` does."""

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], Placed],
        handshakes: Handshakes | None,
        addresses: AddressCounts,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._protocol = protocol
        self._handshakes = handshakes
        self._addresses = addresses
        self._refused = RefusedSockets()
        self._refusals: dict[str, tuple[int, str]] = {}
        """How many since the last line about them, and the address of the last one, by reason."""
        self._logging: asyncio.TimerHandle | None = None
        self._arriving: set[asyncio.Task[None]] = set()
        self._is_open = True
        # More at each turn while somebody waits: processes that share the socket share a small crowd, too.
        self._taken_at_once = 1
        listener.setblocking(False)
        self._resume_accepting()

    def close(self) -> None:
        """Take in nobody any more; who is in stays."""
        self._is_open = False
        self._loop.remove_reader(self._listener)
        for arriving in self._arriving:
            arriving.cancel()
        self._refused.close()
        if self._logging is not None:
            self._logging.cancel()
            self._log_refusals()

    async def wait_closed(self) -> None:
        """Until no connection waits to be accepted."""
        await asyncio.gather(*self._arriving, return_exceptions=True)

    def _resume_accepting(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        ends_at = time.perf_counter() + ACCEPTING_SECONDS
        for _ in range(self._taken_at_once):
            if time.perf_counter() > ends_at:
                return
            try:
                connection, address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                self._taken_at_once = 1
                return
            except OSError as error:
                _log.warning("connections cannot be accepted at the moment", why=error.strerror)
                self._loop.remove_reader(self._listener)
                self._refused.close()
                self._loop.call_later(PAUSE_SECONDS, self._resume_accepting)
                return
            connection.setblocking(False)
            if self._addresses.is_blocked(address[0]):
                self._refuse(connection, address[0], "blocked_address")
                continue
            place = self._addresses.enter(address[0])
            if place is None:
                self._refuse(connection, address[0], "too_many_of_an_address")
                continue
            arriving = self._loop.create_task(self._open(connection, place))
            self._arriving.add(arriving)
            arriving.add_done_callback(self._arriving.discard)
        self._taken_at_once = min(self._taken_at_once * 5 // 4 + 1, ACCEPTED_AT_ONCE_MAX)

    def _refuse(self, connection: socket.socket, address: str, reason: str) -> None:
        self._refused.refuse(connection, is_plain=self._handshakes is None)
        self._refusals[reason] = self._refusals.get(reason, (0, ""))[0] + 1, address
        if self._logging is None:
            # Counted and logged together: under attack either would cost as much as the refusal itself.
            self._logging = self._loop.call_later(LOGGED_EVERY_SECONDS, self._log_refusals)

    def _log_refusals(self) -> None:
        self._logging = None
        refusals, self._refusals = self._refusals, {}
        for reason, (count, address) in refusals.items():
            connections_cut_off_total.labels(reason).inc(count)
            _log.warning(REASONS[reason], connections=count, address=address)

    async def _open(self, connection: socket.socket, place: Place) -> None:
        def placed() -> asyncio.Protocol:
            protocol = self._protocol()
            protocol.place = place
            return protocol

        try:
            await self._loop.connect_accepted_socket(
                placed,
                connection,
                ssl=self._handshakes.context if self._handshakes else None,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if self._handshakes else None,
            )
        except (OSError, asyncio.CancelledError) as error:
            # It is gone already, or shows no certificate that is taken.
            connection.close()
            if self._handshakes is not None and isinstance(error, OSError):
                # A handshake costs more than most requests.
                connections_cut_off_total.labels("failed_handshake").inc()
                place.note_refusal()
            place.free()


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
