"""The transport of the asynchronous clients: requests of `httpx2`, sent by aiohttp.

- For the event loop of asyncio. No redirects, cookies, proxies or decoding: those are the client's.
- A request is sent once. aiohttp repeats one whose connection turns out to be closed, where it is a GET or any other whose method
  is idempotent, but not after an error that is none of its own: errors are therefore translated in a middleware.
- A kept connection on which the server has sent anything meanwhile, or which it closed, is not used again: what it sent would be the
  answer to the next request.
"""

import asyncio
import select
import ssl
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import aiohttp
import httpx2
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from .trust import trusted_authorities

CONNECTIONS_MAX = 100
# Shorter than the five seconds after which common servers close a connection.
IDLE_SECONDS = 4.0
HEADER_MAX_BYTES = 100 * 1024
# What aiohttp would add to a request that does not state it.
NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")

# The first that fits.
ERRORS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[httpx2.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.ServerTimeoutError, httpx2.ReadTimeout),
    (TimeoutError, httpx2.WriteTimeout),
    # A name that is no name of a host is refused before anything is sent.
    ((aiohttp.ClientConnectorError, UnicodeError), httpx2.ConnectError),
    (
        (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientResponseError),
        httpx2.RemoteProtocolError,
    ),
    ((aiohttp.ClientConnectionResetError,), httpx2.WriteError),
    ((aiohttp.ClientConnectionError, OSError), httpx2.ReadError),
    (ValueError, httpx2.LocalProtocolError),
)


class AsyncAiohttpTransport(httpx2.AsyncBaseTransport):
    """Sends requests over kept connections. With `trust_env` the environment may name other certificate authorities."""

    def __init__(self, *, trust_env: bool = False) -> None:
        self._trust_env = trust_env
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # aiohttp has one time limit for both the wait for a connection and making one.
        self._places = asyncio.Semaphore(CONNECTIONS_MAX)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, whose stream must be closed. Raises: httpx2.TransportError."""
        if request.url.scheme not in {"http", "https"} or not request.url.host:
            raise httpx2.UnsupportedProtocol(f"an address begins with http:// or https://, got {request.url}")
        seconds = request.extensions.get("timeout", {})
        await self._take_place(seconds.get("pool"))
        try:
            answer = await self._send(request, seconds)
        except BaseException:
            self._places.release()
            raise
        return httpx2.Response(
            answer.status,
            headers=answer.raw_headers,
            stream=_Answer(answer, self._places),
            extensions={
                "http_version": b"HTTP/1.1",
                "reason_phrase": (answer.reason or "").encode("utf-8", "surrogateescape"),
            },
        )

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _take_place(self, seconds: float | None) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout("all connections are in use") from None

    async def _send(
        self, request: httpx2.Request, seconds: dict[str, float | None]
    ) -> aiohttp.ClientResponse:
        session = await self._session_of_loop()
        # The client of httpx2 has made a header of a name and password in the address.
        url = request.url.copy_with(userinfo=b"") if request.url.userinfo else request.url
        try:
            return await session.request(
                request.method,
                URL(str(url), encoded=True),
                headers=_headers(request),
                data=_body(request, seconds.get("write")),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(connect=seconds.get("connect"), sock_read=seconds.get("read")),
            )
        except ValueError as trouble:
            # A method or a port that cannot be, found before the middleware is called.
            raise httpx2.LocalProtocolError(str(trouble)) from trouble

    async def _session_of_loop(self) -> aiohttp.ClientSession:
        """Another loop, such as that of a second `asyncio.run`, cannot use the connections of the one before."""
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            await self.aclose()
            self._session, self._loop = _session(trusted_authorities(trust_env=self._trust_env)), loop
        return self._session


class _Answer(httpx2.AsyncByteStream):
    def __init__(self, answer: aiohttp.ClientResponse, places: asyncio.Semaphore) -> None:
        self._answer, self._places = answer, places
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError) as trouble:
            raise _translated(trouble) from trouble

    async def aclose(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            # A connection whose answer was read to its end is kept already.
            self._answer.close()
            self._places.release()


class _Body(aiohttp.Payload):
    """A body whose parts are each written within a time limit, which aiohttp does not have."""

    def __init__(self, parts: bytes | httpx2.AsyncByteStream, seconds: float | None) -> None:
        super().__init__(parts)
        self._parts, self._seconds = parts, seconds

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        del encoding, errors
        raise TypeError("a body is not read as text")

    async def write(self, writer: aiohttp.abc.AbstractStreamWriter) -> None:
        if isinstance(self._parts, bytes):
            await self._write_part(writer, self._parts)
            return
        async for part in self._parts:
            if part:
                await self._write_part(writer, part)

    async def _write_part(self, writer: aiohttp.abc.AbstractStreamWriter, part: bytes) -> None:
        async with asyncio.timeout(self._seconds):
            await writer.write(part)


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
    """Whether the system has bytes of the server, or the end of the connection."""
    if transport is None:
        return False
    number = transport.get_extra_info("socket").fileno()
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], 0)[0])
    polling = select.poll()
    polling.register(number, select.POLLIN)
    return bool(polling.poll(0))


def _session(authorities: ssl.SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=_Connector(
            limit=0,
            keepalive_timeout=IDLE_SECONDS,
            ssl=authorities,
            resolver=aiohttp.ThreadedResolver(),
            use_dns_cache=False,
        ),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        max_line_size=HEADER_MAX_BYTES,
        max_field_size=HEADER_MAX_BYTES,
        middlewares=(_sent_once,),
        skip_auto_headers=NOT_ADDED,
    )


async def _sent_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except (aiohttp.ClientError, OSError, ValueError) as trouble:
        raise _translated(trouble) from trouble


def _translated(trouble: Exception) -> httpx2.TransportError:
    for kinds, error in ERRORS:
        if isinstance(trouble, kinds):
            return error(str(trouble) or type(trouble).__name__)
    return httpx2.NetworkError(str(trouble) or type(trouble).__name__)


def _headers(request: httpx2.Request) -> list[tuple[str, str]]:
    """Those of the request, as text that aiohttp writes as the same bytes. Raises: UnicodeDecodeError, a ValueError."""
    headers = [(name.decode("ascii"), value.decode()) for name, value in request.headers.raw]
    # aiohttp states itself that it sends chunks.
    return [header for header in headers if header[0].lower() != "transfer-encoding"]


def _body(request: httpx2.Request, seconds: float | None) -> _Body | None:
    try:
        content: bytes | httpx2.AsyncByteStream = request.content
    except httpx2.RequestNotRead:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        content = request.stream
    return _Body(content, seconds) if content else None
