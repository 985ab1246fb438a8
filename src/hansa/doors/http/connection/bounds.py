"""The numbers that bound a connection, the phases in which it waits, and the state that the connections of one process share."""

from enum import IntEnum

import msgspec
from uvicorn.protocols.http.flow_control import FlowControl

from hansa.doors.http.connection.deadlines import Deadlines
from hansa.doors.http.connection.discarding import Discarding
from hansa.doors.http.connection.unsent import UnsentAnswers
from hansa.foundation.plumbing.process.runtime import Slot

HEAD_SECONDS = 10
PROGRESS_SECONDS = 30
"""A body, and the reading of an answer, must move by PROGRESS_BYTES in each of these."""
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


class ConnectionBounds(msgspec.Struct, frozen=True):
    """State that the connections of one process share."""

    deadlines: Deadlines = msgspec.field(default_factory=Deadlines)
    unsent: UnsentAnswers = msgspec.field(default_factory=UnsentAnswers)
    discarding: Discarding = msgspec.field(default_factory=Discarding)


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
