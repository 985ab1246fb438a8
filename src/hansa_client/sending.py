"""How the calls of a registry's client are sent, in a thread and in an event loop: without the work that a client for any use does."""

from functools import lru_cache
from typing import Any, Self
from urllib.request import getproxies

import httpx2

from .calls import Call
from .trust import trusted_authorities

ADDRESSES_KEPT = 512
HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "hansa-client"}


class AsyncSender:
    """Sends calls to one registry, and opens its client of httpx2 where a connection is needed for long."""

    def __init__(self, url: str, transport: httpx2.AsyncBaseTransport | None) -> None:
        self._url = url
        self._transport = transport or _AsyncThroughProxy.where_there_is_one() or _direct()
        self._given = transport
        self._client: httpx2.AsyncClient | None = None

    async def send(self, call: Call, token: str | None, seconds: float) -> httpx2.Response:
        """The response, read whole. Raises: httpx2.TransportError."""
        request = _request(self._url, call, token, seconds)
        response = await self._transport.handle_async_request(request)
        response.request = request
        await response.aread()
        return response

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

    def send(self, call: Call, token: str | None, seconds: float) -> httpx2.Response:
        """The response, read whole. Raises: httpx2.TransportError."""
        return self._client.send(_request(self._url, call, token, seconds))

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


def _direct() -> httpx2.AsyncBaseTransport:
    from .aiohttp_transport import AsyncAiohttpTransport

    return AsyncAiohttpTransport(trust_env=True)


@lru_cache(ADDRESSES_KEPT)
def _address(url: str, path: str) -> httpx2.URL:
    return httpx2.URL(url + path)


def _request(url: str, call: Call, token: str | None, seconds: float) -> httpx2.Request:
    arguments: dict[str, Any] = call.arguments(token)
    return httpx2.Request(
        call.method,
        _address(url, call.path),
        params=arguments["params"] or None,
        headers=HEADERS | arguments["headers"],
        content=arguments.get("content"),
        data=arguments.get("data"),
        extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)},
    )
