"""HTTP below the routes: bytes on a socket that no client library would send."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from tests.hostile.served import Served, serve
from tests.registry import StartRegistry

ANSWER_SECONDS = 20
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
HOST = b"Host: registry.test\r\n"
GOOD = b"GET /livez HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"


@pytest.fixture
async def served(start_registry: StartRegistry) -> AsyncIterator[Served]:
    async with serve(await start_registry(public_base_url="http://registry.test")) as served:
        yield served


def request(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return line + b"\r\n" + HOST + lines + b"Connection: close\r\n\r\n" + body


POST = b"POST /api/v1/auth/refresh HTTP/1.1"
JSON = b"Content-Type: application/json"

# What may be answered: a refusal, or the answer to the one request that a strict reader sees. Never a mistake of ours.
REFUSED = {400, 404, 405, 413, 414, 415, 422, 431, 501, 505}
STRANGE: dict[str, tuple[bytes, set[int]]] = {
    "length and chunks": (
        request(
            POST,
            JSON,
            b"Content-Length: 4",
            b"Transfer-Encoding: chunked",
            body=b"0\r\n\r\nGET /livez HTTP/1.1\r\n\r\n",
        ),
        REFUSED,
    ),
    "an absolute target": (request(b"GET http://registry.test/livez HTTP/1.1"), {400}),
    "a target of a tunnel": (request(b"CONNECT registry.test:443 HTTP/1.1"), REFUSED),
    "chunks twice": (
        request(POST, JSON, b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", body=b"0\r\n\r\n"),
        REFUSED,
    ),
    "a coding besides chunks": (
        request(POST, JSON, b"Transfer-Encoding: gzip, chunked", body=b"2\r\n{}\r\n0\r\n\r\n"),
        {400},
    ),
    "codings in two fields": (
        request(POST, JSON, b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
        {400},
    ),
    "an unknown coding": (request(POST, JSON, b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n"), REFUSED),
    "two lengths": (request(POST, JSON, b"Content-Length: 2", b"Content-Length: 40", body=b"{}"), REFUSED),
    "two lengths in one": (request(POST, JSON, b"Content-Length: 2, 2", body=b"{}"), REFUSED),
    "a negative length": (request(POST, JSON, b"Content-Length: -2", body=b"{}"), REFUSED),
    "a signed length": (request(POST, JSON, b"Content-Length: +2", body=b"{}"), REFUSED),
    "a length of many digits": (request(POST, JSON, b"Content-Length: " + b"9" * 400, body=b"{}"), REFUSED),
    "a chunk size of many digits": (
        request(POST, JSON, b"Transfer-Encoding: chunked", body=b"f" * 400 + b"\r\n{}\r\n0\r\n\r\n"),
        REFUSED,
    ),
    "a chunk size that is none": (
        request(POST, JSON, b"Transfer-Encoding: chunked", body=b"zz\r\n{}\r\n0\r\n\r\n"),
        REFUSED,
    ),
    "two hosts": (request(b"GET /livez HTTP/1.1", b"Host: elsewhere.test"), {400}),
    "no host": (b"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n", {400}),
    "a host with a path": (b"GET /livez HTTP/1.1\r\nHost: a/b?c#d\r\nConnection: close\r\n\r\n", {400}),
    "the absolute form": (request(b"GET http://elsewhere.test/livez HTTP/1.1"), {400}),
    "the absolute form of a file": (request(b"GET file:///etc/passwd HTTP/1.1"), REFUSED),
    "the authority form": (request(b"CONNECT elsewhere.test:443 HTTP/1.1"), REFUSED),
    "the asterisk form": (request(b"OPTIONS * HTTP/1.1"), REFUSED),
    "two slashes": (request(b"GET //livez HTTP/1.1"), REFUSED),
    "an address for a path": (request(b"GET //elsewhere.test/livez HTTP/1.1"), REFUSED),
    "an escaped slash": (request(b"GET /api/v1/teg%2fbalance HTTP/1.1"), {400}),
    "an escaped escape": (request(b"GET /livez%252f HTTP/1.1"), REFUSED),
    "steps upwards": (request(b"GET /static/../../../../etc/passwd HTTP/1.1"), REFUSED),
    "escaped steps upwards": (request(b"GET /static/%2e%2e/%2e%2e/%2e%2e/etc/passwd HTTP/1.1"), REFUSED),
    "backward slashes": (request(b"GET /static/..\\..\\pages.py HTTP/1.1"), REFUSED),
    "a raw NUL in the path": (request(b"GET /livez\x00 HTTP/1.1"), REFUSED),
    "raw bytes in the path": (request(b"GET /\xff\xfe HTTP/1.1"), REFUSED),
    "raw UTF-8 in the path": (request("GET /é HTTP/1.1".encode()), REFUSED),
    "broken escapes": (request(b"GET /%zz%1 HTTP/1.1"), REFUSED),
    "a fragment": (request(b"GET /livez#x HTTP/1.1"), {200, *REFUSED}),
    "a blank in the path": (request(b"GET /livez x HTTP/1.1"), REFUSED),
    "a header over two lines": (request(b"GET /livez HTTP/1.1", b"X-A: b\r\n c"), {200, *REFUSED}),
    "a blank before the colon": (request(b"GET /livez HTTP/1.1", b"X-A : b"), {200, *REFUSED}),
    "a header without a name": (request(b"GET /livez HTTP/1.1", b": b"), REFUSED),
    "a NUL in a header": (request(b"GET /livez HTTP/1.1", b"X-A: \x00"), {200, *REFUSED}),
    "a bare line feed": (GOOD.replace(b"\r\n", b"\n"), {200, *REFUSED}),
    "a bare carriage return": (request(b"GET /livez HTTP/1.1", b"X-A: b\rX-C: d"), {200, *REFUSED}),
    "Latin-1 in a header": (request(b"GET /livez HTTP/1.1", b"X-Request-Id: \xe9\xff"), {200, *REFUSED}),
    "a line break smuggled into the request id": (
        request(b"GET /livez HTTP/1.1", b"X-Request-Id: a%0d%0aX: y"),
        {200},
    ),
    "hostile forwarding": (
        request(b"GET /livez HTTP/1.1", b"X-Forwarded-For: ,,,\xff,;DROP", b"Forwarded: for=_x"),
        {200},
    ),
    "a forged client certificate": (
        request(b"GET /livez HTTP/1.1", b"X-Forwarded-Client-Cert: Hash=a", b"Client-Cert: :a:"),
        {200},
    ),
    "hostile tokens": (
        request(b"GET /api/v1/auth/profile HTTP/1.1", b"Authorization: Bearer \xff\xfe"),
        {401},
    ),
    "two tokens": (
        request(b"GET /api/v1/auth/profile HTTP/1.1", b"Authorization: Bearer a", b"Authorization: Bearer b"),
        {401},
    ),
    "an empty token": (request(b"GET /api/v1/auth/profile HTTP/1.1", b"Authorization: Bearer "), {401}),
    "a token of 60 KB": (
        request(b"GET /api/v1/auth/profile HTTP/1.1", b"Authorization: Bearer " + b"a" * 60_000),
        {401, *REFUSED},
    ),
    "5,000 headers": (
        request(b"GET /livez HTTP/1.1", *[b"X-%d: a" % number for number in range(5000)]),
        {431},
    ),
    "an unknown method": (request(b"BREW /livez HTTP/1.1"), REFUSED),
    "a method in small letters": (request(b"get /livez HTTP/1.1"), REFUSED),
    "HTTP/0.9": (b"GET /livez\r\n\r\n", {400}),
    "HTTP/9.9": (request(b"GET /livez HTTP/9.9"), REFUSED),
    "HTTP/2 without asking": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", REFUSED),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200, REFUSED),
    "an upgrade to what we do not speak": (
        request(b"GET /livez HTTP/1.1", b"Connection: Upgrade", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"),
        {200, *REFUSED},
    ),
    "a WebSocket where there is none": (
        b"GET /livez HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        {403, *REFUSED},
    ),
}


async def test_a_strange_request_is_refused_or_read_strictly_and_the_server_serves_on(served: Served):
    faults = []
    for name, (sent, allowed) in STRANGE.items():
        statuses = [int(status) for status in STATUS.findall(await answers(served, sent))]
        # A connection may also be closed without a word.
        if len(statuses) > 1 or not set(statuses) <= allowed:
            faults.append(f"{name}: {statuses}")
        if STATUS.findall(await answers(served, GOOD)) != [b"200"]:
            faults.append(f"{name}: the server stopped serving")
    assert not faults, "\n".join(faults)
    assert b"Traceback" not in served.log.read_bytes()


async def test_a_body_that_never_comes_holds_up_nobody_else(served: Served):
    halves = [await asyncio.open_connection(*served.address) for _ in range(50)]
    for _, writer in halves:
        writer.write(request(POST, JSON, b"Content-Length: 1000", body=b"{"))
    assert STATUS.findall(await answers(served, GOOD)) == [b"200"]
    for _, writer in halves:
        writer.close()


async def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_no_trace(served: Served):
    for _ in range(20):
        _, writer = await asyncio.open_connection(*served.address)
        writer.write(request(POST, JSON, b"Content-Length: 1000", body=b'{"refresh_token"'))
        await writer.drain()
        writer.close()
    assert STATUS.findall(await answers(served, GOOD)) == [b"200"]
    assert b"Traceback" not in served.log.read_bytes()


async def answers(served: Served, sent: bytes) -> bytes:
    """Everything that comes back until the server closes; empty when it closes without a word."""
    reader, writer = await asyncio.open_connection(*served.address)
    try:
        writer.write(sent)
        async with asyncio.timeout(ANSWER_SECONDS):
            await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
