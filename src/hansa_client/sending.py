"""How the calls of a registry's client are sent, in a thread and in an event loop: without the work that a client for any use does."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self
from urllib.request import getproxies

import httpx2

from .bounded import async_read_within, read_within
from .calls import Answer, Call
from .trust import trusted_authorities

if TYPE_CHECKING:
    from .aiohttp_transport import AsyncAiohttpTransport

ADDRESSES_KEPT = 512
SLACK_SECONDS = 60.0
"""By how much the whole body may take longer than each of its parts."""
DEADLINES_KEPT = 64
# Of an empty body these state no length.
WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "hansa-client"}
_HEADERS = tuple((name.encode(), value.encode()) for name, value in HEADERS.items())


class AsyncSender:
    """Sends calls to one registry, and opens its client of httpx2 where a connection is needed for long."""

    def __init__(self, url: str, transport: httpx2.AsyncBaseTransport | None) -> None:
        self._url = url
        through = transport or _AsyncThroughProxy.where_there_is_one()
        self._direct: AsyncAiohttpTransport | None = None
        self._transport: httpx2.AsyncBaseTransport
        if through is None:
            self._transport = self._direct = _direct()
        else:
            self._transport = through
        self._given = transport
        self._client: httpx2.AsyncClient | None = None

    async def send(self, call: Call, token: str | None, seconds: float) -> Answer:
        """The answer. Raises: httpx2.TransportError, httpx2.DecodingError."""
        if self._direct is not None and call.form is None:
            return await self._sent_directly(self._direct, call, token, seconds)
        request = request_of(self._url, call, token, seconds)
        response = await self._transport.handle_async_request(request)
        response.request = request
        await async_read_within(response, seconds=seconds + SLACK_SECONDS)
        return Answer.of(response)

    async def _sent_directly(
        self, transport: "AsyncAiohttpTransport", call: Call, token: str | None, seconds: float
    ) -> Answer:
        """Without the objects of httpx2 for request and response, which cost as much as sending the one and reading the other."""
        from .aiohttp_transport import head_of

        arguments = call.arguments(token)
        address = _address(self._url, call.path)
        if arguments["params"]:
            address = _Address.of(httpx2.URL(address.url, params=arguments["params"]))
        body: bytes = arguments.get("content", b"")
        headers = [(b"Host", address.host), *_HEADERS]
        headers += [(name.encode("ascii"), value.encode()) for name, value in arguments["headers"].items()]
        if body or call.method not in WITHOUT_BODY:
            headers.append((b"Content-Length", b"%d" % len(body)))
        head = head_of(call.method, address.target, headers)
        exchange = await transport.exchange(
            address.origin, head, body, _seconds(seconds), is_head=call.method == "HEAD"
        )
        try:
            message = exchange.message
            response = httpx2.Response(message.code, headers=list(message.raw_headers), stream=exchange)
            await async_read_within(response, seconds=seconds + SLACK_SECONDS)
            return Answer.of(response)
        finally:
            exchange.close()

    def client(self) -> httpx2.AsyncClient:
        """The client for web sockets."""
        if self._client is None:
            self._client = httpx2.AsyncClient(
                base_url=self._url, transport=self._given, verify=trusted_authorities()
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
        await self._transport.aclose()


class Sender:
    """The same for a thread."""

    def __init__(self, url: str, transport: httpx2.BaseTransport | None) -> None:
        self._url = url
        self._client = httpx2.Client(base_url=url, transport=transport, verify=trusted_authorities())

    def send(self, call: Call, token: str | None, seconds: float) -> Answer:
        """The answer. Raises: httpx2.TransportError, httpx2.DecodingError."""
        response = self._client.send(request_of(self._url, call, token, seconds), stream=True)
        read_within(response, seconds=seconds + SLACK_SECONDS)
        return Answer.of(response)

    def client(self) -> httpx2.Client:
        """The client for web sockets."""
        return self._client

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class _AsyncThroughProxy(httpx2.AsyncBaseTransport):
    """The transports of httpx2 that the environment names proxies for."""

    def __init__(self) -> None:
        self._client = httpx2.AsyncClient(verify=trusted_authorities())

    @classmethod
    def where_there_is_one(cls) -> Self | None:
        """None where the environment names no proxy."""
        return cls() if getproxies() else None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        await self._client.aclose()


def _direct() -> "AsyncAiohttpTransport":
    from .aiohttp_transport import AsyncAiohttpTransport

    return AsyncAiohttpTransport(trust_env=True)


@dataclass(frozen=True)
class _Address:
    """Address of a call, in the parts that are written."""

    url: httpx2.URL
    origin: str
    host: bytes
    target: bytes

    @classmethod
    def of(cls, url: httpx2.URL) -> Self:
        """The parts of an address."""
        from .aiohttp_transport import origin_of, target_of

        return cls(url, origin_of(url), url.netloc, target_of(url))


@lru_cache(ADDRESSES_KEPT)
def _address(url: str, path: str) -> _Address:
    return _Address.of(httpx2.URL(url + path))


@lru_cache(DEADLINES_KEPT)
def _seconds(seconds: float) -> Mapping[str, float | None]:
    return dict.fromkeys(("connect", "read", "write", "pool"), seconds)


def request_of(url: str, call: Call, token: str | None, seconds: float) -> httpx2.Request:
    """The request of a call as httpx2 has it."""
    arguments: dict[str, Any] = call.arguments(token)
    return httpx2.Request(
        call.method,
        url + call.path,
        params=arguments["params"] or None,
        headers=HEADERS | arguments["headers"],
        content=arguments.get("content"),
        data=arguments.get("data"),
        extensions={"timeout": dict(_seconds(seconds))},
    )
