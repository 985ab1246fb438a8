"""The transport of the asynchronous clients: requests of `httpx2` over connections of aiohttp.

- For the event loop of asyncio. No redirects, cookies, proxies or decoding: those are the client's.
- aiohttp keeps the connections and parses the answers. The head of a request is written as it stands, in one piece with a short body;
  aiohttp's own client would copy its parts five times.
- A request is sent once.
- A kept connection on which the server has sent anything meanwhile, or which it closed, is not used again: the bytes it sent would
  be the answer to the next request.
"""

import asyncio
import re
import select
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import aiohttp
import httpx2
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from .trust import trusted_authorities

CONNECTIONS_MAX = 100
# Shorter than the five seconds after which common servers close a connection.
IDLE_SECONDS = 4.0
HEADER_MAX_BYTES = 100 * 1024
# A part of a body is not larger, however the server cuts it.
PART_MAX_BYTES = 64 * 1024
# A longer body is written while the answer is awaited, as the server takes it.
SHORT_BODY_BYTES = 16 * 1024
ORIGINS_KEPT = 128
SWITCHED_PROTOCOLS, FINAL = 101, 200

Headers = Sequence[tuple[bytes, bytes]]
Seconds = Mapping[str, float | None]

_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

# The first that fits.
ERRORS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[httpx2.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.ServerTimeoutError, httpx2.ReadTimeout),
    (TimeoutError, httpx2.WriteTimeout),
    # A name that is no name of a host is refused before anything is sent.
    ((aiohttp.ClientConnectorError, UnicodeError), httpx2.ConnectError),
    (
        (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, HttpProcessingError),
        httpx2.RemoteProtocolError,
    ),
    ((aiohttp.ClientConnectionResetError,), httpx2.WriteError),
    ((aiohttp.ClientConnectionError, OSError), httpx2.ReadError),
    (ValueError, httpx2.LocalProtocolError),
)
_TRANSLATED = (aiohttp.ClientError, HttpProcessingError, OSError, ValueError)


class AsyncAiohttpTransport(httpx2.AsyncBaseTransport):
    """Sends requests over kept connections. With `trust_env` the environment may name other certificate authorities."""

    def __init__(self, *, trust_env: bool = False) -> None:
        self._trust_env = trust_env
        self._connector: _Connector | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._origins: dict[str, aiohttp.ClientRequest] = {}
        # aiohttp has one time limit for both the wait for a connection and making one.
        self._places = asyncio.Semaphore(CONNECTIONS_MAX)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, whose stream must be closed. Raises: httpx2.TransportError."""
        url = request.url
        if url.scheme not in {"http", "https"} or not url.host:
            raise httpx2.UnsupportedProtocol(f"an address begins with http:// or https://, got {url}")
        head = head_of(request.method, target_of(url), request.headers.raw)
        answer = await self.exchange(
            origin_of(url),
            head,
            _body_of(request),
            request.extensions.get("timeout", {}),
            is_head=request.method == "HEAD",
        )
        message = answer.message
        return httpx2.Response(
            message.code,
            headers=message.raw_headers,
            stream=answer,
            extensions={
                "http_version": b"HTTP/1.1",
                "reason_phrase": (message.reason or "").encode("utf-8", "surrogateescape"),
            },
        )

    async def exchange(
        self, origin: str, head: bytes, body: "bytes | _LongBody", seconds: Seconds, *, is_head: bool = False
    ) -> "Exchange":
        """The answer to a request, which must be closed. Raises: httpx2.TransportError."""
        await self._take_place(seconds.get("pool"))
        connection: Connection | None = None
        try:
            connection = await self._connected(origin, seconds.get("connect"))
            answer = Exchange(connection, self._places)
            await answer.begin(head, body, seconds, is_head=is_head)
        except BaseException as error:
            if connection is not None:
                connection.close()
            self._places.release()
            if isinstance(error, _TRANSLATED):
                raise _translated(error) from error
            raise
        return answer

    async def aclose(self) -> None:
        """Close the connections."""
        if self._connector is not None:
            await self._connector.close()

    async def _take_place(self, seconds: float | None) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout("all connections are in use") from None

    async def _connected(self, origin: str, seconds: float | None) -> Connection:
        connector = await self._connector_of_loop()
        request = self._origins.get(origin)
        if request is None:
            if len(self._origins) >= ORIGINS_KEPT:
                self._origins.clear()
            request = aiohttp.ClientRequest("GET", URL(origin, encoded=True), loop=self._loop)
            self._origins[origin] = request
        try:
            return await connector.connect(request, [], _connecting_within(seconds))
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(f"no connection to {origin} in time") from error

    async def _connector_of_loop(self) -> "_Connector":
        """Another loop, such as that of a second `asyncio.run`, cannot use the connections of the one before."""
        loop = asyncio.get_running_loop()
        if self._connector is None or self._loop is not loop:
            await self.aclose()
            self._origins.clear()
            self._loop = loop
            self._connector = _Connector(
                limit=0,
                keepalive_timeout=IDLE_SECONDS,
                ssl=trusted_authorities(trust_env=self._trust_env),
                resolver=aiohttp.ThreadedResolver(),
                use_dns_cache=False,
            )
        return self._connector


class Exchange(httpx2.AsyncByteStream):
    """One request and its answer, whose body is read from it."""

    def __init__(self, connection: Connection, places: asyncio.Semaphore) -> None:
        self.message: RawResponseMessage
        self._connection, self._places = connection, places
        self._body: aiohttp.StreamReader
        self._writing: asyncio.Task[None] | None = None
        self._is_closed = False

    async def begin(self, head: bytes, body: "bytes | _LongBody", seconds: Seconds, *, is_head: bool) -> None:
        """Send the request and read the head of the answer."""
        protocol = self._connection.protocol
        if protocol is None or protocol.transport is None:
            raise aiohttp.ClientConnectionResetError("the connection was lost")
        protocol.set_response_params(
            skip_payload=is_head,
            read_until_eof=True,
            auto_decompress=False,
            read_timeout=seconds.get("read"),
            max_line_size=HEADER_MAX_BYTES,
            max_field_size=HEADER_MAX_BYTES,
        )
        if isinstance(body, bytes) and len(body) <= SHORT_BODY_BYTES:
            protocol.transport.write(head + body)
            protocol.start_timeout()
        else:
            protocol.transport.write(head)
            long_body = _LongBody(body) if isinstance(body, bytes) else body
            self._writing = asyncio.create_task(long_body.write(protocol, seconds.get("write")))
        try:
            self.message, self._body = await protocol.read()
            while self.message.code < FINAL and self.message.code != SWITCHED_PROTOCOLS:
                self.message, self._body = await protocol.read()
        except BaseException:
            self._end_writing()
            raise
        self._body.on_eof(self._has_ended)

    async def read(self) -> bytes:
        """The whole body. Raises: httpx2.TransportError."""
        try:
            return await self._body.read()
        except _TRANSLATED as error:
            raise _translated(error) from error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._body.iter_chunked(PART_MAX_BYTES):
                yield chunk
        except _TRANSLATED as error:
            raise _translated(error) from error

    async def aclose(self) -> None:
        """Give the connection back, or end it if the answer was not read to its end."""
        self.close()

    def close(self) -> None:
        """Give the connection back, or end it if the answer was not read to its end."""
        if not self._is_closed:
            self._is_closed = True
            self._end_writing()
            # A connection whose answer was read to its end is kept already.
            self._connection.close()
            self._places.release()

    def _has_ended(self) -> None:
        if self._writing is None or self._writing.done():
            self._connection.release()
        else:
            self._connection.close()

    def _end_writing(self) -> None:
        if self._writing is not None:
            self._writing.cancel()


class _LongBody:
    """A body that is written part by part, each within a time limit."""

    def __init__(self, parts: bytes | httpx2.AsyncByteStream, *, is_chunked: bool = False) -> None:
        self._parts, self._is_chunked = parts, is_chunked

    async def write(self, protocol: ResponseHandler, seconds: float | None) -> None:
        """Write it; who waits for the answer learns of a failure."""
        try:
            async for part in _parts_of(self._parts):
                if part:
                    await _write_part(protocol, _chunk(part) if self._is_chunked else part, seconds)
            if self._is_chunked:
                await _write_part(protocol, b"0\r\n\r\n", seconds)
        except Exception as error:  # noqa: BLE001
            protocol.set_exception(error)
        else:
            protocol.start_timeout()


async def _parts_of(parts: bytes | httpx2.AsyncByteStream) -> AsyncIterator[bytes]:
    if isinstance(parts, bytes):
        yield parts
    else:
        async for part in parts:
            yield part


def _chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


async def _write_part(protocol: ResponseHandler, part: bytes, seconds: float | None) -> None:
    if protocol.transport is None:
        raise aiohttp.ClientConnectionResetError("the connection was lost")
    async with asyncio.timeout(seconds):
        protocol.transport.write(part)
        # aiohttp has no other name for the wait until the system has taken what was written.
        await protocol._drain_helper()  # noqa: SLF001


def _body_of(request: httpx2.Request) -> bytes | _LongBody:
    is_chunked = "transfer-encoding" in request.headers
    try:
        content = request.content
    except httpx2.RequestNotRead:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        return _LongBody(request.stream, is_chunked=is_chunked)
    return _LongBody(content, is_chunked=True) if is_chunked else content


def origin_of(url: httpx2.URL) -> str:
    """Scheme, host and port of an address; a name and password are no part of it."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def target_of(url: httpx2.URL) -> bytes:
    """Path and query of an address; of an empty query the `?` is left out."""
    path = url.raw_path
    return path if url.query else path.removesuffix(b"?")


def head_of(method: str, target: bytes, headers: Headers) -> bytes:
    """The head of a request. Raises: httpx2.LocalProtocolError where a part of it would be another one."""
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    is_whole = lines.count(b"\r") == lines.count(b"\n") == len(headers) and b"\0" not in lines
    try:
        lines.decode()
    except UnicodeDecodeError:
        is_whole = False
    if not is_whole or not _METHOD.fullmatch(method):
        raise httpx2.LocalProtocolError("a method or a header has characters that it cannot have")
    return b"%b %b HTTP/1.1\r\n%b\r\n" % (method.encode("ascii"), target, lines)


class _Connection(ResponseHandler):
    def is_connected(self) -> bool:
        """The connector asks an idle connection, on which nothing is to come; bytes may be there that the event loop has not read yet."""
        return super().is_connected() and not self.should_close and not _has_bytes(self.transport)


class _Connector(aiohttp.TCPConnector):
    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        # aiohttp has no setting for it; the tests of the transport notice where it makes connections otherwise.
        self._factory = partial(_Connection, loop=self._loop)  # type: ignore[assignment]


def _has_bytes(transport: asyncio.BaseTransport | None) -> bool:
    """Return whether the system has bytes of the server, or the end of the connection."""
    if transport is None:
        return False
    number = transport.get_extra_info("socket").fileno()
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], 0)[0])
    polling = select.poll()
    polling.register(number, select.POLLIN)
    return bool(polling.poll(0))


@lru_cache(16)
def _connecting_within(seconds: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(connect=seconds)


def _translated(failure: Exception) -> httpx2.TransportError:
    for kinds, error in ERRORS:
        if isinstance(failure, kinds):
            return error(str(failure) or type(failure).__name__)
    return httpx2.NetworkError(str(failure) or type(failure).__name__)
