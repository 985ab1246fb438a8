"""A call to another host has an end, whatever the host does, and takes in no more than it may."""

import asyncio
import gzip
import ssl
import tracemalloc
from pathlib import Path
from time import monotonic

import pytest

from hansa.foundation.plumbing.outgoing import (
    AnswerTooLarge,
    AnswerUnreadable,
    CallLimits,
    CertificateRefused,
    HostBusy,
    HostUnreachable,
    NamedBy,
    Outgoing,
    OutgoingTimeout,
    calls,
)
from tests.outside import OK, Authority, Names, Speech, host, say
from tests.registry import at_once

MIB = 1024 * 1024
USUAL = CallLimits()
BRIEF = CallLimits(seconds=0.4)
NAME = "cards.example.com"


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def dripping(first: bytes, drop: bytes) -> Speech:
    """A speech that never ends."""

    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.02)

    return speak


async def fetched(speech: Speech, limits: CallLimits = USUAL):
    async with host(speech) as named:
        outgoing = Outgoing((), {f"127.0.0.1:{named.port}"})
        return await outgoing.get(f"http://127.0.0.1:{named.port}/", limits=limits, named_by=NamedBy.USER)


@pytest.mark.parametrize(
    ("first", "drop"),
    [
        (b"", b""),
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
    ids=["silent", "no status line", "endless headers", "slow body", "slow chunks", "endless hints"],
)
async def test_a_slow_host_is_given_up_at_the_deadline(first: bytes, drop: bytes):
    began = monotonic()
    with pytest.raises((OutgoingTimeout, AnswerUnreadable)):
        await fetched(dripping(first, drop), BRIEF)
    assert monotonic() - began < 5


async def test_a_body_is_taken_in_up_to_the_cap():
    whole = await fetched(say(answer(b"x" * 2 * MIB)))
    assert len(whole.body) == 2 * MIB
    with pytest.raises(AnswerTooLarge):
        await fetched(say(answer(b"x" * (2 * MIB + 1))))


async def test_an_endless_body_is_cut_at_the_cap():
    chunks = (b"10000\r\n" + b"x" * 0x10000 + b"\r\n") * 20
    with pytest.raises(AnswerTooLarge):
        await fetched(dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunks))


async def test_a_packed_body_is_measured_unpacked_and_never_held_whole():
    bomb = answer(gzip.compress(bytes(200 * MIB), 1), "Content-Encoding: gzip")
    tracemalloc.start()
    with pytest.raises(AnswerTooLarge):
        await fetched(say(bomb))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 * MIB


async def test_a_packed_answer_is_unpacked():
    packed = await fetched(say(answer(gzip.compress(b"a card"), "Content-Encoding: gzip")))
    assert packed.body == b"a card"


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "zstd", "compress"])
async def test_a_coding_that_was_not_asked_for_is_not_unpacked(coding: str):
    packed = gzip.compress(gzip.compress(b"a card"))
    with pytest.raises(AnswerUnreadable):
        await fetched(say(answer(packed, f"Content-Encoding: {coding}")))


@pytest.mark.parametrize(
    "said",
    [
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\njunk",
        b"",
    ],
    ids=["no http", "huge header", "broken off", "not packed", "nothing"],
)
async def test_what_is_no_answer_is_an_error_of_its_own(said: bytes):
    with pytest.raises((AnswerUnreadable, HostUnreachable)):
        await fetched(say(said))


async def test_a_body_that_nobody_wants_is_not_read():
    flood = dripping(b"HTTP/1.1 204 No Content\r\nContent-Length: 999999999\r\n\r\n", b"x" * MIB)
    unread = await fetched(flood, CallLimits(body_bytes=0))
    assert (unread.status, unread.body) == (204, b"")


async def test_a_redirect_is_an_answer_and_is_not_followed():
    async with host(address=None) as trap:
        for status in ("301 Moved", "302 Found", "307 Again", "308 For good"):
            moved = await fetched(say(answer(b"", f"Location: http://127.0.0.1:{trap.port}/", status=status)))
            assert moved.status == int(status[:3])
            assert moved.headers["location"] == f"http://127.0.0.1:{trap.port}/"
        assert trap.connections == 0


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch):
    async with host() as proxy:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        assert (await fetched(say(OK))).body == b"ok"
        assert proxy.connections == 0


async def test_passwords_of_the_environment_are_not_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with host() as named:
        await Outgoing((), {f"127.0.0.1:{named.port}"}).get(
            f"http://127.0.0.1:{named.port}/", named_by=NamedBy.USER
        )
        assert "authorization" not in named.heads[0].lower()


async def test_a_cookie_is_not_brought_back():
    async with host(say(answer(b"", "Set-Cookie: who=you"))) as named:
        outgoing = Outgoing((), {f"127.0.0.1:{named.port}"})
        for _ in range(2):
            await outgoing.get(f"http://127.0.0.1:{named.port}/", named_by=NamedBy.USER)
        assert "cookie" not in "".join(named.heads).lower()


async def test_a_host_is_called_once_at_a_time_and_others_meanwhile():
    both_at_once = asyncio.Event()

    async def pause(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if one.open_now and other.open_now:
            both_at_once.set()
        await both_at_once.wait()
        await asyncio.sleep(0.01)
        writer.write(OK)

    async with host(pause) as one, host(pause) as other:
        outgoing = Outgoing((), {f"127.0.0.1:{one.port}", f"127.0.0.1:{other.port}"})
        ports = [one.port] * 4 + [other.port] * 4
        await at_once(*(outgoing.get(f"http://127.0.0.1:{port}/", named_by=NamedBy.USER) for port in ports))
        assert (one.most_open, other.most_open) == (1, 1)
        assert (one.connections, other.connections) == (4, 4)


async def test_as_many_calls_go_to_a_host_at_once_as_their_limits_allow():
    three_at_once = asyncio.Event()

    async def pause(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if named.open_now == 3:
            three_at_once.set()
        await three_at_once.wait()
        writer.write(OK)

    async with host(pause) as named:
        outgoing = Outgoing((), {f"127.0.0.1:{named.port}"})
        limits = CallLimits(at_once=3)
        await at_once(
            *(
                outgoing.get(f"http://127.0.0.1:{named.port}/", limits=limits, named_by=NamedBy.USER)
                for _ in range(7)
            )
        )
        assert (named.most_open, named.connections) == (3, 7)


async def test_who_waits_too_long_for_a_turn_gets_the_error_that_the_host_is_busy(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(calls, "TURN_SECONDS", 0.05)
    async with host(dripping(b"", b"")) as named:
        outgoing = Outgoing((), {f"127.0.0.1:{named.port}"})
        url = f"http://127.0.0.1:{named.port}/"
        first, second = await asyncio.gather(
            outgoing.get(url, limits=BRIEF, named_by=NamedBy.USER),
            outgoing.get(url, limits=BRIEF, named_by=NamedBy.USER),
            return_exceptions=True,
        )
    assert isinstance(first, OutgoingTimeout)
    assert isinstance(second, HostBusy)


async def test_a_body_is_posted_with_its_headers():
    bodies: list[bytes] = []

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bodies.append(await reader.readexactly(4))
        writer.write(OK)

    async with host(keep) as named:
        outgoing = Outgoing((), {f"127.0.0.1:{named.port}"})
        await outgoing.post(
            f"http://127.0.0.1:{named.port}/hook", b"body", headers={"X-Kind": "test"}, named_by=NamedBy.USER
        )
        assert bodies == [b"body"]
        assert named.heads[0].startswith("POST /hook HTTP/1.1\r\n")
        assert "\r\nX-Kind: test\r\n" in named.heads[0]


async def test_nobody_there_is_unreachable():
    async with host() as named:
        port = named.port
    with pytest.raises(HostUnreachable):
        await Outgoing((), {f"127.0.0.1:{port}"}).get(f"http://127.0.0.1:{port}/", named_by=NamedBy.USER)


class Dialled:
    """A host with TLS on this machine, called by its name."""

    def __init__(self, trust: ssl.SSLContext, port: int) -> None:
        names = Names({NAME: [["127.0.0.1"]]})
        self._outgoing = Outgoing((), {f"{NAME}:{port}"}, lookup=names, trust=trust)
        self._url = f"https://{NAME}:{port}/"

    async def status(self) -> int:
        return (await self._outgoing.get(self._url, named_by=NamedBy.USER)).status


async def test_a_host_proves_the_name_that_was_dialled_though_its_address_is_connected_to(tmp_path):
    authority = Authority()
    context = authority.server(tmp_path, NAME)
    asked: list[str | None] = []
    context.sni_callback = lambda _, name, __: asked.append(name)
    async with host(tls=context) as named:
        assert await Dialled(authority.trust(), named.port).status() == 200
        assert asked == [NAME]
        assert f"\r\nHost: {NAME}:{named.port}\r\n" in named.heads[0]


@pytest.mark.parametrize("name", ["other.example.com", "127.0.0.1", "example.com"])
async def test_a_certificate_for_another_name_is_refused(tmp_path, name: str):
    authority = Authority()
    async with host(tls=authority.server(tmp_path, name)) as named:
        with pytest.raises(CertificateRefused):
            await Dialled(authority.trust(), named.port).status()
        assert named.heads == []


async def test_a_certificate_that_has_ended_or_is_of_nobody_trusted_is_refused(tmp_path):
    trusted, stranger = Authority(), Authority()
    for issuer, days in ((trusted, -1), (stranger, 1)):
        async with host(tls=issuer.server(tmp_path, NAME, days=days)) as named:
            with pytest.raises(CertificateRefused):
                await Dialled(trusted.trust(), named.port).status()


async def test_by_default_the_authorities_of_the_public_web_are_trusted(tmp_path):
    async with host(tls=Authority().server(tmp_path, NAME)) as named:
        outgoing = Outgoing((), {f"{NAME}:{named.port}"}, lookup=Names({NAME: [["127.0.0.1"]]}))
        with pytest.raises(CertificateRefused):
            await outgoing.get(f"https://{NAME}:{named.port}/", named_by=NamedBy.USER)
