"""HTTP/1.1 for many small requests to a few servers: connections of the event loop that are kept between requests.

- A transport of httpx2, for asyncio. It takes a quarter of the processor time of the one that httpx2 brings.
- No redirects, no proxies, no HTTP/2, no switch to another protocol.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from .http1_connection import Http1Connection

CONNECTIONS_MAX = 100
IDLE_MAX = 20
# Shorter than the five seconds after which common servers close a connection.
IDLE_SECONDS = 4.0
HAPPY_EYEBALLS_SECONDS = 0.25
DEFAULT_PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]


class AsyncHttp1Transport(httpx2.AsyncBaseTransport):
    """Sends requests of `httpx2` over kept connections. With `trust_env` the environment may name further certificates."""

    def __init__(self, *, trust_env: bool = False) -> None:
        self._trust_env = trust_env
        self._context: ssl.SSLContext | None = None
        self._idle: dict[Origin, list[Http1Connection]] = {}
        self._idle_count = 0
        self._places = asyncio.Semaphore(CONNECTIONS_MAX)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, whose stream must be closed. Raises: httpx2.TransportError."""
        timeout = request.extensions.get("timeout", {})
        origin = _origin_of(request)
        await self._take_place(timeout.get("pool"))
        connection = None
        try:
            connection = self._kept(origin) or await self._connected(origin, timeout.get("connect"))
            await connection.send(request, timeout.get("write"))
            await connection.head(timeout.get("read"))
        except BaseException:
            if connection is not None:
                connection.abort()
            self._places.release()
            raise
        return httpx2.Response(
            connection.status,
            headers=connection.headers,
            stream=_Answer(self, origin, connection, timeout.get("read")),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": connection.reason},
        )

    async def aclose(self) -> None:
        """Close the idle connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.abort()
        self._idle.clear()
        self._idle_count = 0

    def give_back(self, origin: Origin, connection: Http1Connection) -> None:
        """End a request; its connection is kept if it may be."""
        self._places.release()
        if not connection.finish():
            return
        if self._idle_count >= IDLE_MAX:
            connection.abort()
            return
        connection.idle_since = connection.loop.time()
        self._idle.setdefault(origin, []).append(connection)
        self._idle_count += 1

    async def _take_place(self, seconds: float | None) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout("all connections are in use") from None

    def _kept(self, origin: Origin) -> Http1Connection | None:
        """The connection that was used last, if it is still sound; older ones are closed."""
        connections = self._idle.get(origin)
        while connections:
            connection = connections.pop()
            self._idle_count -= 1
            if connection.is_usable() and connection.loop.time() - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.abort()
        return None

    async def _connected(self, origin: Origin, seconds: float | None) -> Http1Connection:
        scheme, host, port = origin
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {}
        if scheme == "https":
            self._context = self._context or httpx2.create_ssl_context(trust_env=self._trust_env)
            options["ssl"] = self._context
        if isinstance(loop, asyncio.BaseEventLoop):
            options["happy_eyeballs_delay"] = HAPPY_EYEBALLS_SECONDS
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(Http1Connection, host, port, **options)
        except TimeoutError as trouble:
            raise httpx2.ConnectTimeout(f"no connection to {host}:{port} in time") from trouble
        except (OSError, UnicodeError) as trouble:
            raise httpx2.ConnectError(f"no connection to {host}:{port}: {trouble}") from trouble
        return connection


class _Answer(httpx2.AsyncByteStream):
    def __init__(
        self,
        transport: AsyncHttp1Transport,
        origin: Origin,
        connection: Http1Connection,
        seconds: float | None,
    ) -> None:
        self._transport, self._origin, self._connection = transport, origin, connection
        self._seconds = seconds
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (chunk := await self._connection.chunk(self._seconds)) is not None:
            yield chunk

    async def aclose(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._transport.give_back(self._origin, self._connection)


def _origin_of(request: httpx2.Request) -> Origin:
    scheme = request.url.scheme
    if scheme not in DEFAULT_PORTS or not request.url.host:
        raise httpx2.UnsupportedProtocol(f"an address begins with http:// or https://, got {request.url}")
    return scheme, request.url.host, request.url.port or DEFAULT_PORTS[scheme]
