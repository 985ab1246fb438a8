"""Many connections that each send one transfer after the other, in this process: only the duties of a client of HTTP/1.1."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from urllib.parse import urlsplit

Body = Callable[[int], tuple[str, str]]
"""Token and body of the request of this number."""


@dataclass
class Driven:
    """Outcome of one run; `refused` holds the first part of each answer other than 200."""

    seconds: float = 0.0
    waited: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return len(self.waited) / self.seconds


async def drive(url: str, path: str, body: Body, *, connections: int, seconds: float) -> Driven:
    """Send for so many seconds, and wait for the last answers."""
    driven, began = Driven(), monotonic()
    senders = [_send(url, path, body, began + seconds, driven) for _ in range(connections)]
    await asyncio.gather(*senders)
    driven.seconds = monotonic() - began
    return driven


async def _send(url: str, path: str, body: Body, end: float, driven: Driven) -> None:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    while monotonic() < end:
        token, text = body(random.getrandbits(62))
        began = monotonic()
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        answer = await reader.readexactly(length)
        if head.startswith("http/1.1 200"):
            driven.waited.append(monotonic() - began)
        else:
            driven.refused.append(answer[:200].decode())
    writer.close()
