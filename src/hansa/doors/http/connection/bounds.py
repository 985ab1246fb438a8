"""The numbers that bound a connection, the phases in which it waits, and the state that the connections of one process share.

Bodies of refused requests, read on and thrown away: so many bytes a second in one process.

A client may send all of a body before it reads the answer, and it cannot know a limit on the size. So the size has none: the
rate has one, and the time of each connection (`connection_ends`).

Answers that clients do not read: the bytes that wait in this process are bounded, for each address and for all together.

Without a bound for each, one address has all the room, and a thousand answers are begun for it before the first ends. The only reader of a
room is never cut off for the size of its answer.
"""

import time
from collections.abc import Callable
from enum import IntEnum
from typing import Protocol

import msgspec
from uvicorn.protocols.http.flow_control import FlowControl

from hansa.doors.http.connection.deadlines import Deadlines
from hansa.foundation.plumbing.process.runtime import Slot

HEAD_SECONDS = 10
PROGRESS_SECONDS = 30
"""A body, and the reading of an answer, must move by PROGRESS_BYTES in each of these."""
WINDOW_SECONDS = 0.25
WINDOW_BYTES = 64 << 20
"""A quarter of a gigabyte a second costs a tenth of a processor."""
UNSENT_MAX_BYTES = 64 << 20
ADDRESSES_TO_FILL = 4
"""One address has this part of the room."""


PROGRESS_BYTES = PROGRESS_SECONDS * 1024
LINGER_SECONDS = 2
PIPELINED_MAX = 16
HEAD_END = b"\r\n\r\n"
PATH_SHOWN_BYTES = 256
LINGERS_MAX = 150
LINGER_BYTES = LINGER_SECONDS * 1024
"""A client that is refused while it sends is read on, and nothing kept, while it sends so much in each LINGER_SECONDS."""
# A chunk has a size of a few digits and two line ends. Many clients send chunks of some hundred bytes.
CHUNK_OVERHEAD_BYTES = 16
SPARE_OVERHEAD_BYTES = 16 << 10
SPARE_CHUNKS = 1024
LENGTH_MAX_DIGITS = 20
FED_AT_ONCE_BYTES = 16 << 10
# Many clients send head and body in two packets, and the answer may come between them.
UNWANTED_BODY_MAX_BYTES = 64 << 10
CHUNK_BYTES_MEAN = 64


class Phase(IntEnum):
    """Event that a connection waits for."""

    HEAD = 0
    BODY = 1
    WORK = 2
    READER = 3
    NEXT = 4
    END = 5


class Discarding:
    """Bytes that the connections of one process have thrown away in the present window."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._ends_at = 0.0
        self._left = 0

    def take(self, size: int) -> float:
        """Count bytes that were thrown away; returns for how many seconds their connection is not to be read."""
        now = self._now()
        if now >= self._ends_at:
            # Bytes that were read beyond a window are missing in the next one.
            self._left = WINDOW_BYTES + min(self._left, 0)
            self._ends_at = now + WINDOW_SECONDS
        self._left -= size
        return 0.0 if self._left > 0 else self._ends_at - now


class SlowReader(Protocol):
    """A connection with more unsent bytes than its transport should hold."""

    def unsent_bytes(self) -> int:
        """How many bytes wait for the client now."""

    def cut_off(self) -> None:
        """End the connection at once; unsent bytes are dropped."""


class UnsentAnswers:
    """The slow readers of one process, oldest first. Used by its event loop alone."""

    def __init__(self, bytes_max: int = UNSENT_MAX_BYTES) -> None:
        self._all = _Room(bytes_max)
        self._of_address: dict[str, _Room] = {}
        self._address: dict[SlowReader, str] = {}

    @property
    def total_bytes(self) -> int:
        """Number of bytes that waited for all readers when they were last counted."""
        return self._all.total_bytes

    def add(self, reader: SlowReader, address: str | None = None) -> None:
        """Count the bytes that wait for this reader. Where they are too many, the oldest readers are cut off.

        `address` is None for readers that are not counted by their address.
        """
        self.remove(reader)
        rooms = [self._all]
        if address is not None:
            self._address[reader] = address
            rooms.append(
                self._of_address.setdefault(address, _Room(self._all.bytes_max // ADDRESSES_TO_FILL))
            )
        for room in rooms:
            room.add(reader)
        for room in reversed(rooms):
            for oldest in room.crowded_out():
                self.remove(oldest)
                oldest.cut_off()

    def is_crowded(self, address: str) -> bool:
        """Return whether half the room of the address is taken: its next request then waits until something was read."""
        room = self._of_address.get(address)
        return room is not None and room.total_bytes > room.bytes_max // 2

    def remove(self, reader: SlowReader) -> None:
        """Nothing waits for this reader."""
        self._all.remove(reader)
        address = self._address.pop(reader, None)
        if address is not None:
            room = self._of_address[address]
            room.remove(reader)
            if room.is_empty:
                del self._of_address[address]


class ConnectionBounds(msgspec.Struct, frozen=True):
    """State that the connections of one process share."""

    deadlines: Deadlines = msgspec.field(default_factory=Deadlines)
    unsent: UnsentAnswers = msgspec.field(default_factory=UnsentAnswers)
    discarding: Discarding = msgspec.field(default_factory=Discarding)


class _Room:
    """Some readers, oldest first, and the bytes that may wait for them together."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.total_bytes = 0
        self._waiting: dict[SlowReader, int] = {}

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def add(self, reader: SlowReader) -> None:
        size = reader.unsent_bytes()
        self._waiting[reader] = size
        self.total_bytes += size

    def remove(self, reader: SlowReader) -> None:
        self.total_bytes -= self._waiting.pop(reader, 0)

    def crowded_out(self) -> list[SlowReader]:
        """The oldest readers, without whom there is room again."""
        if self.total_bytes > self.bytes_max:
            # What was counted is what waited then; most may have been read since.
            for reader in self._waiting:
                self._waiting[reader] = reader.unsent_bytes()
            self.total_bytes = sum(self._waiting.values())
        if self.total_bytes <= self.bytes_max or len(self._waiting) == 1:
            return []
        # Some more than needed: counting again costs as much as there are readers.
        left, oldest = self.total_bytes, []
        for reader, size in self._waiting.items():
            if left <= self.bytes_max * 3 // 4:
                break
            left -= size
            oldest.append(reader)
        return oldest


CONNECTION_BOUNDS: Slot[ConnectionBounds] = Slot(
    "http: bounds of connections", build=lambda _: ConnectionBounds()
)


class ReadingFlow(FlowControl):
    """Flow control that reads nothing more while the peer does not read."""

    def pause_writing(self) -> None:
        super().pause_writing()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        was_paused = self.write_paused
        super().resume_writing()
        if was_paused and not self.read_paused and not self._transport.is_closing():
            self._transport.resume_reading()

    def resume_reading(self) -> None:
        if self.write_paused:
            self.read_paused = False
        else:
            super().resume_reading()
