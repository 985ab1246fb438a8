"""Bodies of answers within a size and a time: a peer that sends much, packed or slowly, is given up.

- A body is read whole. One whose declared length passes the size is not read.
- A stream of events has no end of its own; each of its events is bounded. It is unpacked first: the limit is on the bytes that a reader of events would hold.
"""

import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import httpx2

ANSWER_MAX_BYTES = 64 * 1024 * 1024
EVENT_MAX_BYTES = ANSWER_MAX_BYTES
ANSWER_SECONDS = 300.0
EVENT_STREAM = "text/event-stream"
# They describe the bytes that were on the wire, not those that are handed on unpacked.
OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})

_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")
_BLANK_LINE_MAX_BYTES = 4


class _Body:
    """Parts of one body, unpacked."""

    def __init__(self, response: httpx2.Response, bytes_max: int, seconds: float) -> None:
        self._response, self._bytes_max, self._seconds = response, bytes_max, seconds
        self._deadline = time.monotonic() + seconds
        self._parts: list[bytes] = []
        self._length = 0

    def begin(self) -> None:
        """Raises: httpx2.DecodingError where the declared length is beyond the size."""
        declared = self._response.headers.get("content-length", "")
        # An unpacked body is hardly smaller than a packed one.
        if declared.isascii() and declared.isdecimal():
            self._count(int(declared))

    def take(self, part: bytes) -> None:
        """Raises: httpx2.DecodingError beyond the size, httpx2.ReadTimeout beyond the time."""
        self._length += len(part)
        self._count(self._length)
        if time.monotonic() > self._deadline:
            raise httpx2.ReadTimeout(f"the body did not end within {self._seconds:g} seconds")
        self._parts.append(part)

    def end(self) -> None:
        """Give the response the parts that were read as its content."""
        # httpx2 has no public member for the content of a response that was read part by part.
        self._response._content = b"".join(self._parts)  # noqa: SLF001

    def _count(self, length: int) -> None:
        if length > self._bytes_max:
            raise httpx2.DecodingError(f"the body has more than {self._bytes_max} bytes")


async def async_read_within(
    response: httpx2.Response, bytes_max: int = ANSWER_MAX_BYTES, seconds: float = ANSWER_SECONDS
) -> None:
    """Read a body of at most `bytes_max` once unpacked, within `seconds` in all; the response then has its content.

    Raises: httpx2.TransportError, httpx2.DecodingError.
    """
    body = _Body(response, bytes_max, seconds)
    try:
        body.begin()
        async for part in response.aiter_bytes():
            body.take(part)
    except BaseException:
        with suppress(httpx2.TransportError):
            await response.aclose()
        raise
    body.end()


def read_within(
    response: httpx2.Response, bytes_max: int = ANSWER_MAX_BYTES, seconds: float = ANSWER_SECONDS
) -> None:
    """Read a body in a thread, within the limits of `async_read_within`."""
    body = _Body(response, bytes_max, seconds)
    try:
        body.begin()
        for part in response.iter_bytes():
            body.take(part)
    except BaseException:
        with suppress(httpx2.TransportError):
            response.close()
        raise
    body.end()


class _Event:
    """The event of a stream that is under way."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._length = 0
        self._tail = b""

    def take(self, part: bytes) -> None:
        """Raises: httpx2.DecodingError where one event is beyond the size."""
        # A blank line may stand at the edge of two parts.
        text, begun = self._tail + part, self._length - len(self._tail)
        last = 0
        for blank in _BLANK_LINE.finditer(text):
            self._count(begun + blank.end())
            begun, last = -blank.end(), blank.end()
        self._length = begun + len(text)
        self._count(self._length)
        self._tail = text[max(last, len(text) - _BLANK_LINE_MAX_BYTES + 1) :]

    def _count(self, length: int) -> None:
        if length > self._bytes_max:
            raise httpx2.DecodingError(f"one event of the stream has more than {self._bytes_max} bytes")


class AsyncEventStream(httpx2.AsyncByteStream):
    """A stream of events, unpacked, that ends with httpx2.DecodingError once one event is beyond the size."""

    def __init__(self, wire: httpx2.Response, bytes_max: int = EVENT_MAX_BYTES) -> None:
        self._wire, self._event = wire, _Event(bytes_max)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._wire.aiter_bytes():
            self._event.take(part)
            yield part

    async def aclose(self) -> None:
        """Close the connection."""
        await self._wire.aclose()


class EventStream(httpx2.SyncByteStream):
    """Stream of events in a thread, with the limits of `AsyncEventStream`."""

    def __init__(self, wire: httpx2.Response, bytes_max: int = EVENT_MAX_BYTES) -> None:
        self._wire, self._event = wire, _Event(bytes_max)

    def __iter__(self) -> Iterator[bytes]:
        for part in self._wire.iter_bytes():
            self._event.take(part)
            yield part

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()


def with_bounded_events(
    response: httpx2.Response, stream_of: type[AsyncEventStream] | type[EventStream]
) -> httpx2.Response:
    """The response; a stream of events in it, which was not read, is bounded."""
    is_stream = response.headers.get("content-type", "").startswith(EVENT_STREAM)
    if not is_stream or response.is_stream_consumed:
        return response
    wire = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
    for name in OF_THE_WIRE:
        response.headers.pop(name, None)
    response.stream = stream_of(wire)
    return response
