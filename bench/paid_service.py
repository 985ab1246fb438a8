"""A paid service as a process of its own, on a socket that it is given: `python -m bench.paid_service JSON`."""

import json
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from hansa_client import AgentCredentials
from hansa_client.service import PaidService


async def echo(
    scope: Any,
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Send the body of the request back."""
    if scope["type"] == "lifespan":
        for _ in range(2):
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
        return
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    stated = json.loads(sys.argv[1])
    listener, credentials = stated.pop("listener"), stated.pop("credentials")
    service = PaidService(credentials=AgentCredentials(*credentials), **stated)
    uvicorn.Server(uvicorn.Config(service.asgi(echo), log_level="critical")).run(
        sockets=[socket.socket(fileno=listener)]
    )


if __name__ == "__main__":
    main()
