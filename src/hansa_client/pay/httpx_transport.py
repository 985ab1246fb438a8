"""For SDKs that are built on the older `httpx`: a transport of theirs that pays, such as for the client of the A2A SDK.

`httpx.AsyncClient(transport=PayingHttpxTransport(paying_client))` is handed to the SDK.
"""

from collections.abc import AsyncIterator

import httpx
import httpx2

from hansa_client.bounded import OF_THE_WIRE

from .clients import AsyncPayingClient


class PayingHttpxTransport(httpx.AsyncBaseTransport):
    """Sends requests of httpx through a paying client, which stays open when this is closed."""

    def __init__(self, client: AsyncPayingClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See AsyncPayingClient; its errors are raised here."""
        paid = self._client.build_request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=await request.aread(),
            extensions=dict(request.extensions),
        )
        response = await self._client.send(paid, stream=True)
        if response.is_stream_consumed:
            kept = [(name, value) for name, value in response.headers.items() if name not in OF_THE_WIRE]
            return httpx.Response(response.status_code, headers=kept, content=response.content)
        return httpx.Response(response.status_code, headers=response.headers.raw, stream=_HandedOn(response))


class _HandedOn(httpx.AsyncByteStream):
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_raw():
            yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()
