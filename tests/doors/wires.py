"""Connections to a listening registry, byte by byte."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx2

from hansa.doors.http.connection.bounds import CONNECTION_BOUNDS, ConnectionBounds
from hansa.doors.http.connection.per_address import ADDRESS_COUNTS, AddressCounts
from tests.registry import StartRegistry, TestRegistry

HOST = b"Host: registry.test\r\n"
LIVEZ = b"GET /livez HTTP/1.1\r\n" + HOST
LIMIT_SECONDS = 120
MEBIBYTE = 1 << 20
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


@dataclass
class Wire:
    """One connection, as bytes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        """Send until everything is sent or the other side has ended the connection."""
        with suppress(ConnectionError):
            for piece in pieces:
                self.writer.write(piece)
                await self.writer.drain()

    async def everything(self) -> bytes:
        """Return the bytes received until the other side ends the connection."""
        received = bytearray()
        async with asyncio.timeout(LIMIT_SECONDS):
            with suppress(ConnectionError):
                while piece := await self.reader.read(MEBIBYTE):
                    received += piece
        return bytes(received)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next answer: status, headers, body."""
        async with asyncio.timeout(LIMIT_SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(head[0].split()[1]), headers, body


@dataclass
class Listening:
    """A registry on a socket."""

    registry: TestRegistry
    place: str
    wires: list[Wire] = field(default_factory=list)

    async def connect(self, limit: int = 2**16) -> Wire:
        host, _, port = self.place.rpartition(":")
        wire = Wire(*await asyncio.open_connection(host, int(port), limit=limit))
        self.wires.append(wire)
        return wire

    async def answers(self, *pieces: bytes) -> bytes:
        """Send on a connection of its own; everything that comes back."""
        wire = await self.connect()
        await wire.send(*pieces)
        return await wire.everything()

    async def metric(self, name: str) -> float:
        async with httpx2.AsyncClient(base_url=f"http://{self.place}", timeout=LIMIT_SECONDS) as http:
            text = (await http.get("/metrics")).text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0


@asynccontextmanager
async def listen_with(
    start_registry: StartRegistry, bounds: ConnectionBounds, addresses: AddressCounts | None = None
) -> AsyncIterator[Listening]:
    registry = await start_registry(rate_limit_reads="off")
    CONNECTION_BOUNDS.put(registry.runtime, bounds)
    if addresses is not None:
        ADDRESS_COUNTS.put(registry.runtime, addresses)
    async with registry.listening() as place:
        listening = Listening(registry, place)
        yield listening
        for wire in listening.wires:
            wire.writer.close()


class Lagging:
    """A reader for which so many bytes wait."""

    def __init__(self, unsent: int) -> None:
        self.unsent = unsent
        self.is_cut_off = False

    def unsent_bytes(self) -> int:
        return self.unsent

    def cut_off(self) -> None:
        self.is_cut_off = True


def statuses(answers: bytes) -> list[int]:
    return [int(status) for status in STATUS.findall(answers)]
