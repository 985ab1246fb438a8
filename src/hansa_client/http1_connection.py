"""One HTTP/1.1 connection of an event loop: a request, its answer, then the next one.

- The answer is read as it arrives. It is whole when its length or its last chunk says so; without either, when the connection ends.
- A connection is used again only after a whole answer that nothing follows, where neither side wants it closed.
- What arrives while no answer is awaited, or after its end, belongs to no request: the connection is closed.
"""

import asyncio
import re
import select
from collections import deque
from collections.abc import Callable
from typing import cast

import httptools
import httpx2

HEAD_MAX_BYTES = 100 * 1024
# Of an answer that is read slowly; then the connection is read no further until it was taken.
WAITING_MAX_BYTES = 256 * 1024
SWITCHING_PROTOCOLS = 101
INFORMATIONAL_MAX = 199
NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
VALUE = re.compile(rb"[^\x00\r\n]*")
TARGET = re.compile(rb"[!-~]+")

Headers = list[tuple[bytes, bytes]]


def head_of(request: httpx2.Request) -> bytes:
    """The first lines of a request. Raises: httpx2.LocalProtocolError where one could end early."""
    method, target = request.method.encode("ascii", "replace"), request.url.raw_path
    is_sound = NAME.fullmatch(method) and TARGET.fullmatch(target)
    lines = [b"%b %b HTTP/1.1" % (method, target)]
    for name, value in request.headers.raw:
        is_sound = is_sound and NAME.fullmatch(name) and VALUE.fullmatch(value)
        lines.append(b"%b: %b" % (name, value))
    if not is_sound:
        raise httpx2.LocalProtocolError("a method, address or header holds a character that HTTP forbids")
    return b"\r\n".join([*lines, b"", b""])


class Http1Connection(asyncio.Protocol):
    """A connection, made by `loop.create_connection`. Its errors are those of httpx2."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.idle_since = 0.0
        self.status, self.reason, self.headers = 0, b"", list[tuple[bytes, bytes]]()
        self._transport: asyncio.Transport | None = None
        self._descriptor = -1
        self._parser = httptools.HttpResponseParser(self)
        self._trouble: httpx2.TransportError | None = None
        self._waiter: asyncio.Future[bool] | None = None
        self._chunks: deque[bytes] = deque()
        self._waiting_bytes = self._head_bytes = 0
        self._is_answering = self._has_head = self._is_whole = False
        self._is_kept = self._is_framed = self._is_of_head = False
        self._is_paused = self._may_write = True

    def is_usable(self) -> bool:
        """Whether a further request may be sent: nothing has arrived, neither an end nor bytes."""
        return (
            self._transport is not None
            and not self._transport.is_closing()
            and self._trouble is None
            and self.loop is asyncio.get_running_loop()
            and not _is_readable(self._descriptor)
        )

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None and not self.loop.is_closed():
            self._transport.abort()

    def finish(self) -> bool:
        """End the request; whether the connection may carry another one. Otherwise it is closed."""
        may_continue = self._is_whole and self._is_kept and self._trouble is None
        self._is_answering = False
        if not may_continue:
            self.abort()
        return may_continue

    async def send(self, request: httpx2.Request, seconds: float | None) -> None:
        """Write a request. Raises: WriteTimeout, WriteError, LocalProtocolError."""
        head = head_of(request)
        self._begin(request)
        try:
            body = request.content
        except httpx2.RequestNotRead:
            self._write(head)
            await self._send_stream(request, seconds)
            return
        self._write(head + body if body else head)
        await self._drained(seconds)

    async def head(self, seconds: float | None) -> None:
        """Wait until `status` and `headers` are known. Raises: ReadTimeout, ReadError, RemoteProtocolError."""
        while not self._has_head:
            await self._news(seconds, httpx2.ReadTimeout)

    async def chunk(self, seconds: float | None) -> bytes | None:
        """The next bytes of the body; None at its end. Raises: ReadTimeout, ReadError, RemoteProtocolError."""
        while not self._chunks:
            if self._is_whole:
                return None
            self._read_on()
            await self._news(seconds, httpx2.ReadTimeout)
        whole = b"".join(self._chunks)
        self._chunks.clear()
        self._waiting_bytes = 0
        return whole

    def _begin(self, request: httpx2.Request) -> None:
        self.status, self.reason, self.headers = 0, b"", []
        self._head_bytes = 0
        self._is_answering, self._has_head, self._is_whole = True, False, False
        self._is_of_head = request.method == "HEAD"
        self._read_on()

    def _read_on(self) -> None:
        if self._is_paused and self._transport is not None and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()

    def _write(self, data: bytes) -> None:
        if self._trouble is not None:
            raise self._trouble
        assert self._transport is not None
        self._transport.write(data)

    async def _drained(self, seconds: float | None) -> None:
        """Wait while too much is unsent; an answer that comes first ends the wait, as it may refuse the body."""
        while not self._may_write and not self._has_head:
            await self._news(seconds, httpx2.WriteTimeout)

    async def _send_stream(self, request: httpx2.Request, seconds: float | None) -> None:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        is_chunked = "Content-Length" not in request.headers
        async for data in request.stream:
            if self._has_head:
                # The rest is not sent, so that nothing else may follow on this connection.
                self._is_kept = False
                return
            if data:
                self._write(b"%x\r\n%b\r\n" % (len(data), data) if is_chunked else data)
                await self._drained(seconds)
        if is_chunked:
            self._write(b"0\r\n\r\n")

    async def _news(self, seconds: float | None, late: Callable[[str], httpx2.TransportError]) -> None:
        """Wait until something happens. Raises: `late`, and what is wrong with the connection."""
        if self._trouble is not None:
            raise self._trouble
        waiter = self._waiter = self.loop.create_future()
        timer = None if seconds is None else self.loop.call_later(seconds, _settle, waiter, False)
        try:
            if not await waiter:
                raise late("the time is over")
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None:
            _settle(self._waiter, True)

    def _fail(self, trouble: httpx2.TransportError) -> None:
        if self._trouble is None:
            self._trouble = trouble
        self.abort()
        self._wake()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of uvloop are none of asyncio's classes.
        self._transport = cast("asyncio.Transport", transport)
        self._descriptor = transport.get_extra_info("socket").fileno()
        self._is_paused = False

    def data_received(self, data: bytes) -> None:
        if not self._is_answering or self._is_whole:
            self._fail(httpx2.RemoteProtocolError("the server sent bytes that answer no request"))
            return
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as trouble:
            self._fail(httpx2.RemoteProtocolError(f"the answer is not HTTP/1.1: {trouble}"))
            return
        if not self._has_head and self._head_bytes > HEAD_MAX_BYTES:
            self._fail(httpx2.RemoteProtocolError(f"the headers have more than {HEAD_MAX_BYTES} bytes"))
        if self._waiting_bytes > WAITING_MAX_BYTES and not self._is_whole and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self.connection_lost(None)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_answering and self._has_head and not self._is_framed and exc is None:
            self._is_whole = True
        if self._trouble is None:
            if exc is not None:
                self._trouble = httpx2.ReadError(str(exc) or type(exc).__name__)
            else:
                self._trouble = httpx2.RemoteProtocolError("the server closed the connection")
        self._wake()

    def pause_writing(self) -> None:
        self._may_write = False

    def resume_writing(self) -> None:
        self._may_write = True
        self._wake()

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._is_whole:
            raise ValueError("a second answer follows")

    def on_status(self, reason: bytes) -> None:
        self.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self.status == SWITCHING_PROTOCOLS:
            raise ValueError("the protocol was not to be switched")
        if self.status <= INFORMATIONAL_MAX:
            return
        names = {name.lower() for name, _ in self.headers}
        self._is_framed = not names.isdisjoint({b"content-length", b"transfer-encoding"})
        self._is_kept = self._parser.should_keep_alive() and not self._is_of_head
        self._has_head = True
        # The parser would await the body that the headers describe.
        self._is_whole = self._is_of_head

    def on_body(self, data: bytes) -> None:
        if not self._is_whole:
            self._chunks.append(data)
            self._waiting_bytes += len(data)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_whole = True
        else:
            self.reason, self.headers = b"", []


def _settle(waiter: "asyncio.Future[bool]", is_news: bool) -> None:
    if not waiter.done():
        waiter.set_result(is_news)


def _is_readable(descriptor: int) -> bool:
    """Whether something, the end of the connection included, has arrived that the loop has not read yet."""
    if not hasattr(select, "poll"):
        return bool(select.select([descriptor], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(0))
