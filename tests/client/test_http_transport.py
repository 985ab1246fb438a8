"""The transport of the asynchronous clients, against servers that answer byte by byte as a test states.

Tests of behaviour that any transport has run with the transport of httpx2 too.
"""

import asyncio
import gzip
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from hansa_client import AsyncRegistry, aiohttp_transport
from hansa_client.aiohttp_transport import AsyncAiohttpTransport
from hansa_client.calls import Call
from tests.outside import Authority

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BOTH = pytest.mark.parametrize("kind", [AsyncAiohttpTransport, httpx2.AsyncHTTPTransport])

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """Answers the request of each turn with the next of `answers`, and closes the connection after an empty one."""

    answers: list[bytes]
    url: str = ""
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                self.bodies.append(await _body(self.heads[-1], reader))
                answer = self.answers.pop(0)
                writer.write(answer)
                await writer.drain()
                if self.answers and self.answers[0] == b"":
                    self.answers.pop(0)
                    break
            else:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.ended.set()


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    lines = {line.partition(b":")[0].lower(): line.partition(b":")[2].strip() for line in head.split(b"\r\n")}
    if b"transfer-encoding" in lines:
        return await reader.readuntil(b"0\r\n\r\n")
    return await reader.readexactly(int(lines.get(b"content-length", b"0")))


@asynccontextmanager
async def served(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[Server]:
    server = Server([*answers])
    async with served(server.serve) as server.url:
        yield server


async def polled() -> None:
    """Return once the event loop has seen all events on its sockets until now."""
    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.send(b"x")
        await asyncio.get_running_loop().sock_recv(reading, 1)


@BOTH
async def test_requests_one_after_the_other_share_a_connection(kind):
    async with answering(OK, OK) as server, httpx2.AsyncClient(transport=kind()) as client:
        first = await client.get(f"{server.url}/one?a=1")
        second = await client.post(f"{server.url}/two", content=b"body")
    assert (first.status_code, first.text, second.text) == (200, "ok", "ok")
    assert server.connections == 1
    assert server.heads[0].startswith(b"GET /one?a=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert server.bodies == [b"", b"body"]


@BOTH
async def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again(kind):
    async with answering(OK, b"", OK) as server, httpx2.AsyncClient(transport=kind()) as client:
        await client.get(server.url)
        await server.ended.wait()
        await polled()
        assert (await client.get(server.url)).text == "ok"
        assert server.connections == 2


@BOTH
async def test_an_answer_without_a_length_ends_with_its_connection(kind):
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nto the end"
    async with answering(answer, b"") as server, httpx2.AsyncClient(transport=kind()) as client:
        assert (await client.get(server.url)).text == "to the end"


@BOTH
@pytest.mark.parametrize(
    "cut",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"",
    ],
)
async def test_an_answer_that_is_cut_is_no_answer(kind, cut):
    async with answering(cut, b"") as server, httpx2.AsyncClient(transport=kind()) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(server.url)


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        b"SMTP ready\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n" + b"X-Padding: " + b"x" * 300_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_refused(kind, answer):
    async with answering(answer) as server, httpx2.AsyncClient(transport=kind()) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(server.url)


@BOTH
async def test_interim_answers_are_passed_over(kind):
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    async with (
        answering(b"HTTP/1.1 100 Continue\r\n\r\n" + hints + OK) as server,
        httpx2.AsyncClient(transport=kind()) as client,
    ):
        answer = await client.get(server.url)
    assert (answer.status_code, answer.text, answer.reason_phrase) == (200, "ok", "OK")
    assert "link" not in answer.headers


@BOTH
async def test_the_answer_to_head_has_no_body(kind):
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
    async with answering(answer, b"", OK) as server, httpx2.AsyncClient(transport=kind()) as client:
        assert (await client.head(server.url)).content == b""
        await server.ended.wait()
        await polled()
        assert (await client.get(server.url)).text == "ok"


@BOTH
async def test_a_body_without_a_length_is_sent_in_chunks(kind):
    async def parts() -> AsyncIterator[bytes]:
        yield b"first"
        yield b""
        yield b"second, longer"

    async with answering(OK) as server, httpx2.AsyncClient(transport=kind()) as client:
        await client.post(server.url, content=parts())
    assert server.bodies == [b"5\r\nfirst\r\ne\r\nsecond, longer\r\n0\r\n\r\n"]


@BOTH
async def test_a_body_is_sent_in_chunks_where_its_headers_say_so(kind):
    async with answering(OK, OK) as server, httpx2.AsyncClient(transport=kind()) as client:
        for content in (b"whole", b"x" * 20_000):
            await client.post(server.url, content=content, headers={"Transfer-Encoding": "chunked"})
    assert server.connections == 1
    assert server.bodies == [b"5\r\nwhole\r\n0\r\n\r\n", b"4e20\r\n" + b"x" * 20_000 + b"\r\n0\r\n\r\n"]


@BOTH
async def test_a_body_whose_source_fails_ends_its_request(kind):
    async def parts() -> AsyncIterator[bytes]:
        yield b"first"
        raise LookupError("no second part")

    async with answering(OK, OK) as server, httpx2.AsyncClient(transport=kind(), timeout=60) as client:
        with pytest.raises(LookupError, match="no second part"):
            await client.post(server.url, content=parts())


async def test_a_long_body_leaves_its_connection_for_the_next_request():
    async with (
        answering(OK, OK) as server,
        httpx2.AsyncClient(transport=AsyncAiohttpTransport()) as client,
    ):
        for content in (b"x" * 3_000_000, b"short"):
            assert (await client.post(server.url, content=content)).text == "ok"
    assert server.connections == 1
    assert server.bodies == [b"x" * 3_000_000, b"short"]


async def test_a_registry_is_called_as_its_call_states_and_its_answer_is_decoded():
    body = gzip.compress(b'{"status": "fine"}')
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    async with answering(answer, answer) as server, AsyncRegistry(server.url) as registry:
        read = await registry.fetch(Call("GET", "/one path/ü", query={"a": "1 2", "b": None, "c": [3, 4]}))
        written = await registry.fetch(Call("POST", "/two", json={"text": "x" * 20_000}, key="once"))
    assert read.json() == written.json() == {"status": "fine"}
    assert str(read.request.url) == f"{server.url}/one%20path/%C3%BC?a=1+2&c=3&c=4"
    assert server.heads[0].startswith(b"GET /one%20path/%C3%BC?a=1+2&c=3&c=4 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"content-length" not in server.heads[0].lower()
    assert b"\r\nIdempotency-Key: once\r\n" in server.heads[1]
    assert server.bodies == [b"", b'{"text":"' + b"x" * 20_000 + b'"}']
    assert server.connections == 1


@BOTH
async def test_an_answer_before_the_end_of_the_body_is_read(kind):
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        # Reads on, so that what was sent meanwhile does not reset the connection.
        while await reader.read(100_000):
            pass
        writer.close()

    async with served(refuse) as url, httpx2.AsyncClient(transport=kind()) as client:
        assert (await client.post(url, content=b"x" * 3_000_000)).status_code == 413


@BOTH
async def test_a_long_answer_arrives_whole_at_a_slow_reader(kind):
    length = 5_000_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + b"x" * length
    async with answering(answer) as server, httpx2.AsyncClient(transport=kind()) as client:
        received = 0
        async with client.stream("GET", server.url) as response:
            async for chunk in response.aiter_raw():
                received += len(chunk)
                await asyncio.sleep(0)
    assert received == length


@BOTH
async def test_a_stream_is_received_as_it_is_sent(kind):
    went_on = asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await went_on.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await writer.drain()
        writer.close()

    received = []
    async with (
        served(stream) as url,
        httpx2.AsyncClient(transport=kind()) as client,
        client.stream("GET", url) as response,
    ):
        async for chunk in response.aiter_raw():
            received.append(chunk)
            went_on.set()
    assert received == [b"one", b"two"]


@BOTH
async def test_each_wait_is_bounded(kind):
    async with answering(b"") as server, httpx2.AsyncClient(transport=kind(), timeout=0.05) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.get(server.url)


@BOTH
async def test_a_body_that_the_server_does_not_read_is_not_waited_for_longer_than_stated(kind):
    ended = asyncio.Event()

    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        await ended.wait()
        writer.close()

    limits = httpx2.Timeout(60, write=0.05)
    async with served(ignore) as url, httpx2.AsyncClient(transport=kind(), timeout=limits) as client:
        with pytest.raises(httpx2.WriteTimeout):
            await client.post(url, content=b"x" * 30_000_000)
        ended.set()


@BOTH
@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
async def test_a_request_without_an_answer_is_not_sent_again(kind, method):
    heads: list[bytes] = []

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with served(answer_once) as url, httpx2.AsyncClient(transport=kind()) as client:
        await client.request(method, url)
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.request(method, url)
    assert len(heads) == 2


def test_a_client_is_used_by_one_event_loop_after_the_other():
    async def ask() -> str:
        async with answering(OK) as server:
            return (await client.get(server.url)).text

    client = httpx2.AsyncClient(transport=AsyncAiohttpTransport())
    assert [asyncio.run(ask()) for _ in range(2)] == ["ok", "ok"]
    asyncio.run(client.aclose())


async def test_an_answer_that_is_not_read_to_its_end_ends_its_connection():
    async with (
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nbegun", OK) as server,
        httpx2.AsyncClient(transport=AsyncAiohttpTransport()) as client,
    ):
        async with client.stream("GET", server.url):
            pass
        assert (await client.get(server.url)).text == "ok"
        assert server.connections == 2


@BOTH
async def test_headers_arrive_as_they_were_sent(kind):
    answer = b"HTTP/1.1 200 Very Well\r\nSet-Cookie: a=1\r\nX-One: \xc3\xa9\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"
    async with answering(answer) as server, httpx2.AsyncClient(transport=kind()) as client:
        received = await client.get(
            f"{server.url}/%41%2f?a=%7e&b=+", headers=[("X-Two", "1"), ("X-Two", "2")]
        )
    assert received.headers.raw == [
        (b"Set-Cookie", b"a=1"),
        (b"X-One", b"\xc3\xa9"),
        (b"Set-Cookie", b"b=2"),
        (b"Content-Length", b"0"),
    ]
    assert received.reason_phrase == "Very Well"
    lines = server.heads[0].split(b"\r\n")
    assert lines[0] == b"GET /%41%2f?a=%7e&b=+ HTTP/1.1"
    assert [line for line in lines if line.startswith(b"X-Two")] == [b"X-Two: 1", b"X-Two: 2"]
    names = [line.partition(b":")[0].lower() for line in lines[1:-2]]
    assert sorted(names) == [
        b"accept",
        b"accept-encoding",
        b"connection",
        b"host",
        b"user-agent",
        b"x-two",
        b"x-two",
    ]


@BOTH
async def test_a_port_where_nobody_listens_is_a_connection_error(kind):
    async with answering() as server:
        pass
    async with httpx2.AsyncClient(transport=kind()) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get(server.url)
        with pytest.raises(httpx2.UnsupportedProtocol):
            await client.get("ftp://127.0.0.1/")


@BOTH
@pytest.mark.parametrize("value", [b"one\r\nX-Second: two", b"one\ntwo", b"one\x00"])
async def test_a_header_cannot_hold_another_one(kind, value):
    async with answering(OK) as server, httpx2.AsyncClient(transport=kind()) as client:
        with pytest.raises(httpx2.LocalProtocolError):
            await client.get(server.url, headers=[(b"X-First", value)])
        assert server.heads == []


async def test_what_cannot_be_sent_is_an_error_of_the_request():
    async with (
        answering(OK) as server,
        httpx2.AsyncClient(transport=AsyncAiohttpTransport()) as client,
    ):
        for method, url, value in (
            ("GET\r\nX-Second: two", server.url, b""),
            ("GET", "http://127.0.0.1:99999/", b""),
            ("GET", server.url, b"\xff"),
        ):
            with pytest.raises(httpx2.LocalProtocolError):
                await client.request(method, url, headers=[(b"X-First", value)])
        assert server.heads == []


@BOTH
async def test_after_a_cancelled_request_the_next_has_its_own_answer(kind):
    async with answering(b"", OK) as server, httpx2.AsyncClient(transport=kind()) as client:
        cancelled = asyncio.create_task(client.get(f"{server.url}/cancelled"))
        while not server.heads:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert (await client.get(f"{server.url}/next")).text == "ok"


@pytest.mark.usefixtures("nothing_is_read_yet")
async def test_a_server_is_called_under_the_name_that_its_certificate_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    authority = Authority()
    certificates = tmp_path / "authority.pem"
    certificates.write_text(authority.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates))
    server = Server([OK, OK, OK])
    async with served(server.serve, authority.server(tmp_path, "localhost")) as server.url:
        url = server.url.replace("127.0.0.1", "localhost")
        async with httpx2.AsyncClient(transport=AsyncAiohttpTransport(trust_env=True)) as client:
            assert [(await client.get(url)).text for _ in range(2)] == ["ok", "ok"]
            with pytest.raises(httpx2.ConnectError):
                await client.get(server.url)
        async with httpx2.AsyncClient(transport=AsyncAiohttpTransport()) as stranger:
            with pytest.raises(httpx2.ConnectError):
                await stranger.get(url)
    assert server.heads[0].startswith(b"GET / HTTP/1.1\r\nHost: localhost:")


@BOTH
async def test_an_address_answers_again_after_its_connections_were_closed(kind):
    async with answering(OK, OK) as server:
        for _ in range(2):
            async with httpx2.AsyncClient(transport=kind()) as client:
                await client.get(server.url)
            await server.ended.wait()
            server.ended.clear()
        assert server.connections == 2


async def test_bytes_behind_an_answer_are_not_the_answer_to_the_next_request():
    injected = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ninjected"
    async with (
        answering(OK + injected, OK) as server,
        httpx2.AsyncClient(transport=AsyncAiohttpTransport()) as client,
    ):
        assert (await client.get(server.url)).text == "ok"
        assert (await client.get(server.url)).text == "ok"
        assert server.connections == 2


UNASKED = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked"


@dataclass
class Chatty:
    """Answers a request, and sends another answer when it is let; in a thread, so that the event loop may be busy meanwhile."""

    listening: socket.socket
    answered: int = 0
    lets_send: threading.Event = field(default_factory=threading.Event)
    sent: threading.Event = field(default_factory=threading.Event)

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self.answer, args=(connection,)).start()

    def answer(self, connection: socket.socket) -> None:
        with suppress(ConnectionError), connection, connection.makefile("rb") as requests:
            while line := requests.readline():
                if line != b"\r\n":
                    continue
                # Before the answer, after which the client may look at it.
                self.answered += 1
                number = self.answered
                connection.sendall(OK)
                if number == 1:
                    self.lets_send.wait()
                    connection.sendall(UNASKED)
                    self.sent.set()


@BOTH
@pytest.mark.parametrize("is_busy", [False, True], ids=["loop sees it", "loop is busy"])
async def test_an_answer_that_nobody_asked_for_is_not_the_answer_to_the_next_request(kind, is_busy):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Chatty(listening)
        threading.Thread(target=server.serve, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with httpx2.AsyncClient(transport=kind()) as client:
            assert (await client.get(url)).text == "ok"
            server.lets_send.set()
            # Nothing of the event loop runs before the bytes are there.
            server.sent.wait()
            if not is_busy:
                await polled()
            assert (await client.post(url)).text == "ok"
        assert server.answered == 2
        listening.shutdown(socket.SHUT_RDWR)


async def test_more_requests_than_connections_wait_for_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aiohttp_transport, "CONNECTIONS_MAX", 2)
    async with (
        answering(*[OK] * 20) as server,
        httpx2.AsyncClient(transport=AsyncAiohttpTransport()) as client,
    ):
        answers = await asyncio.gather(*(client.get(server.url) for _ in range(20)))
        assert {answer.text for answer in answers} == {"ok"}
        assert server.connections == 2


async def test_a_request_waits_for_a_connection_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aiohttp_transport, "CONNECTIONS_MAX", 1)
    limits = httpx2.Timeout(60, pool=0.05)
    async with (
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n") as server,
        httpx2.AsyncClient(transport=AsyncAiohttpTransport(), timeout=limits) as client,
        client.stream("GET", server.url),
    ):
        with pytest.raises(httpx2.PoolTimeout):
            await client.get(server.url)
