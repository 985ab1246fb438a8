"""A line: one open WebSocket of this process, written to without a task of its own.

A message to many is framed once (`text_frame`) and its bytes are put on every line: a server's frames carry no mask, so
they are alike for all. The HTTP door supplies the line of a connection under `LINE` in the extensions of its scope.
"""

from typing import Protocol

from websockets.frames import Frame, Opcode

LINE = "hansa.line"
IS_GONE = "hansa.is_gone"
"""In the scope of a request that has a place: whether its client is gone, as a callable."""


class Line(Protocol):
    """The sending side of one WebSocket."""

    def write(self, frames: bytes) -> bool:
        """Send whole frames at once; False, and nothing is sent, while the peer is behind or when it is gone."""

    async def drained(self) -> bool:
        """Wait until the peer has caught up; False when it is gone."""


def text_frame(payload: bytes) -> bytes:
    """A text message as it goes over the wire."""
    return Frame(Opcode.TEXT, payload).serialize(mask=False)
