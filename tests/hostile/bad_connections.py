"""Twenty kinds of bad connection, each with the bytes that it sends and the ends that it may have."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass

PIECE = b"a" * 8192
PIECES_MAX = 200
"""Nothing here goes on for ever by itself: at most two megabytes or so are sent."""
ANSWER_KEPT_BYTES = 4096
DRIP_SECONDS = 0.2
DRIPS_MAX = 400

HOST = b"Host: registry.test\r\n"
GET = b"GET /livez HTTP/1.1\r\n" + HOST
LARGE = b"GET /api/v1/openapi.json HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /api/v1/auth/refresh HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
CARD = b"POST /api/v1/agent-cards/ HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SOCKET = (
    b"GET /ws/events HTTP/1.1\r\n"
    + HOST
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
SUBSCRIBED = b'{"action":"subscribe","channel":"events:all"}'

Sent = AsyncIterator[bytes]


@dataclass(frozen=True)
class Kind:
    """Kind of bad connection: the pieces that it sends and the statuses that may come back; without a status it ends silently."""

    name: str
    pieces: Callable[[], Sent]
    allowed: frozenset[int]
    reads: bool = True


def _at_once(*pieces: bytes) -> Callable[[], Sent]:
    async def sent() -> Sent:
        for piece in pieces:
            yield piece

    return sent


def _endless(beginning: bytes, piece: bytes = PIECE) -> Callable[[], Sent]:
    async def sent() -> Sent:
        yield beginning
        for _ in range(PIECES_MAX):
            yield piece

    return sent


def _after_a_while(beginning: bytes, piece: bytes) -> Callable[[], Sent]:
    async def sent() -> Sent:
        yield beginning
        await asyncio.sleep(DRIP_SECONDS)
        for _ in range(PIECES_MAX):
            yield piece

    return sent


def _dripping(beginning: bytes, drop: bytes) -> Callable[[], Sent]:
    async def sent() -> Sent:
        yield beginning
        for _ in range(DRIPS_MAX):
            await asyncio.sleep(DRIP_SECONDS)
            yield drop

    return sent


def _over_a_socket(beginning: bytes, frames: bytes) -> Callable[[], Sent]:
    async def sent() -> Sent:
        yield SOCKET + b"\r\n"
        # What comes with the handshake is dropped.
        await asyncio.sleep(DRIP_SECONDS)
        yield beginning
        for _ in range(PIECES_MAX):
            yield frames

    return sent


def masked(payload: bytes, opcode: int, *, is_last: bool = True) -> bytes:
    """A frame of a client, masked with zeros."""
    assert len(payload) < 126
    return bytes([opcode | (0x80 if is_last else 0), 0x80 | len(payload)]) + bytes(4) + payload


def _kind(name: str, pieces: Callable[[], Sent], *allowed: int, reads: bool = True) -> Kind:
    return Kind(name, pieces, frozenset(allowed), reads)


KINDS = [
    _kind("says nothing", _at_once()),
    _kind("half a head", _at_once(GET + b"X-A: b"), 408),
    _kind("a head that drips", _dripping(GET, b"X-A: b\r\n"), 408, 431),
    _kind("an endless header", _endless(GET + b"X-A: "), 431),
    _kind("endless headers", _endless(GET, b"X-A: b\r\n" * 1000), 431),
    _kind("an endless path", _endless(b"GET /"), 431),
    _kind("half a body", _at_once(POST + b"Content-Length: 1000\r\n\r\n{"), 408),
    _kind("a body that drips", _dripping(POST + b"Content-Length: 100000\r\n\r\n", b" "), 408),
    _kind("a large body without a credential", _endless(CARD + b"Content-Length: 2000000\r\n\r\n"), 401),
    _kind("an endless body", _endless(POST + b"Content-Length: 1000000000000\r\n\r\n"), 413),
    _kind("an endless chunk extension", _endless(CHUNKED + b"4;"), 400),
    _kind("an endless trailer", _endless(CHUNKED + b"0\r\nX-A: "), 400),
    _kind("chunks of one byte", _endless(CHUNKED, b"1\r\na\r\n" * 1000), 400, 413),
    _kind("does not read what it asks for", _after_a_while(LARGE * 16, LARGE * 100), 200, 503, reads=False),
    _kind("requests sent far ahead", _endless(b"", (GET + b"\r\n") * 100), 200, 503),
    _kind("HTTP/0.9", _at_once(b"GET /livez\r\n\r\n"), 400),
    _kind("two hosts", _at_once(GET + b"Host: elsewhere.test\r\n\r\n"), 400),
    _kind("two idempotency keys", _at_once(POST + b"Idempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n"), 400),
    _kind("no HTTP", _at_once(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(400)), 400),
    _kind(
        "a socket of endless fragments",
        _over_a_socket(masked(b"", 1, is_last=False), masked(b"", 0, is_last=False) * 1000),
        101,
    ),
    _kind(
        "a socket of pings that reads nothing",
        _over_a_socket(masked(SUBSCRIBED, 1), masked(b"a" * 100, 9) * 80),
        101,
        reads=False,
    ),
]


async def play(kind: Kind, address: tuple[str, int], source: str | None = None) -> bytes:
    """Play one such connection until it ends, from `source` where it is given, and return the bytes that were read."""
    reader, writer = await asyncio.open_connection(
        *address, limit=2**16 if kind.reads else 1, local_addr=(source, 0) if source else None
    )
    sending = asyncio.create_task(_send(kind, writer))
    answer = bytearray()
    try:
        if not kind.reads:
            await sending
        with suppress(ConnectionError):
            while piece := await reader.read(2**16):
                answer += piece[: ANSWER_KEPT_BYTES - len(answer)]
    finally:
        sending.cancel()
        await asyncio.wait({sending})
        writer.transport.abort()
    return bytes(answer)


async def _send(kind: Kind, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        async for piece in kind.pieces():
            writer.write(piece)
            await writer.drain()
