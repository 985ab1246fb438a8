"""The namespace of an MCP server: its own domain proves it, in a record or a file, and has to go on proving it."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from dnslib import CNAME, QTYPE, RCODE, RR, TXT, DNSQuestion, DNSRecord
from msgspec.structs import replace

from hansa.foundation.plumbing.outgoing import Answer, HostUnreachable, Outgoing, OutgoingTrouble
from hansa.foundation.plumbing.outgoing.txt_records import SystemTxt, texts_in
from hansa.rooms.catalogue.pulls import NAMESPACE_PROOFS
from hansa.rooms.catalogue.pulls.proving import UNANSWERED_MAX
from tests.mcp_servers import imported
from tests.outside import Host, Speech, host, say
from tests.registry import TestRegistry
from tests.running_jobs import jobs_of, run_due

DAY = 86_400


@dataclass
class Zone:
    """A name server with TXT records by name; `raw` answers word for word, `is_silent` not at all."""

    records: dict[str, list[str]] = field(default_factory=dict)
    raw: bytes | None = None
    is_silent: bool = False
    code: int = 0
    asked: list[str] = field(default_factory=list)
    port: int = 0

    def answer(self, packet: bytes) -> bytes | None:
        asked = DNSRecord.parse(packet)
        name = str(asked.q.qname).removesuffix(".")
        self.asked.append(f"{name} {QTYPE[asked.q.qtype]}")
        if self.is_silent:
            return None
        if self.raw is not None:
            return packet[:2] + self.raw
        said = asked.reply()
        said.header.rcode = self.code or (RCODE.NOERROR if name in self.records else RCODE.NXDOMAIN)
        said.add_answer(RR(name, QTYPE.CNAME, rdata=CNAME("elsewhere.example.net")))
        for text in self.records.get(name, []):
            parts = [text[place : place + 255] for place in range(0, len(text), 255)]
            said.add_answer(RR("elsewhere.example.net", QTYPE.TXT, rdata=TXT(parts)))
        return said.pack()


@asynccontextmanager
async def zone() -> AsyncIterator[Zone]:
    kept = Zone()

    class Datagrams(asyncio.DatagramProtocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, addr: Any) -> None:
            answer = kept.answer(data)
            if answer is None:
                return
            if len(answer) > 1232:
                cut = DNSRecord.parse(data).reply()
                cut.header.tc = 1
                answer = cut.pack()
            # An answer to another question comes first: it is passed over.
            self.transport.sendto(b"\0\0" + answer[2:], addr)
            self.transport.sendto(answer, addr)

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("!H", await reader.readexactly(2))
        answer = kept.answer(await reader.readexactly(length)) or b""
        writer.write(struct.pack("!H", len(answer)) + answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(stream, "127.0.0.1", 0)
    kept.port = server.sockets[0].getsockname()[1]
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        Datagrams, local_addr=("127.0.0.1", kept.port)
    )
    try:
        yield kept
    finally:
        transport.close()
        server.close()


class Rerouted(Outgoing):
    """Calls of `https://example.com` reach a host of this machine; its port below 1024 is not free for tests."""

    def __init__(self, zone_: Zone, web: Host | None) -> None:
        super().__init__(
            (), {f"127.0.0.1:{web.port}"} if web else (), texts=SystemTxt([("127.0.0.1", zone_.port)])
        )
        self._web = web

    async def send(self, method: str, url: str, *given: Any, **more: Any) -> Answer:
        if self._web is None:
            raise HostUnreachable
        assert url == "https://example.com/.well-known/hansa-verify", url
        return await super().send(
            method, f"http://127.0.0.1:{self._web.port}/.well-known/hansa-verify", *given, **more
        )


def document(name: str = "com.example/weather", url: str = "https://mcp.example.com/mcp") -> dict[str, Any]:
    remote = {"type": "streamable-http", "url": url}
    return {"name": name, "description": "Forecasts.", "version": "1.0.0", "remotes": [remote]}


async def proved(
    registry: TestRegistry, outgoing: Outgoing, card: dict[str, Any]
) -> tuple[bool, str | None, int]:
    """Look for the proof as if its time had come: whether the card is verified, the trouble, and the seconds until the next look."""
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE plumbing_job SET due_at = now() WHERE kind = 'namespace proof'")
    )
    assert await run_due(replace(registry.runtime, outgoing=outgoing), NAMESPACE_PROOFS) > 0
    row = await registry.database.query(
        lambda tx: tx.fetchrow(
            "SELECT v.trouble, round(extract(epoch FROM j.due_at - now()))::int AS wait FROM catalogue_visit v"
            " JOIN plumbing_job j ON j.key = v.card_id::text AND j.kind = 'namespace proof'"
            " WHERE v.card_id = $1 AND v.errand = 'namespace'",
            card["card_id"],
        )
    )
    assert row is not None
    shown = (await registry.get(f"/agent-cards/{card['id']}")).json()["mcp_server"]
    assert (shown["verified_at"] is not None) == shown["verified"]
    return shown["verified"], row["trouble"], row["wait"]


def page(body: str, status: int = 200, *headers: str) -> Speech:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return say("\r\n".join(lines).encode() + b"\r\n\r\n" + body.encode())


async def test_a_record_or_the_file_of_the_domain_verifies_a_card_and_its_end_ends_it(start_registry):
    registry = await start_registry()
    owner, stranger = await registry.developer(), await registry.developer()
    card, other = await imported(owner, document()), await imported(stranger, document())
    text = card["mcp_server"]["proof"]["txt_value"]
    assert text != other["mcp_server"]["proof"]["txt_value"]
    async with zone() as names:
        names.records["example.com"] = ["v=spf1 -all", text]
        found = await proved(registry, Rerouted(names, None), card)
        assert found[:2] == (True, None)
        assert found[2] == pytest.approx(DAY, abs=60)
        # The proof of one card is none of another's.
        assert not (await registry.get(f"/agent-cards/{other['id']}")).json()["mcp_server"]["verified"]
        assert set(names.asked) == {"example.com TXT"}
        (entry, *_) = (await registry.http.get("/v0.1/servers")).json()["servers"]
        assert next(one for key, one in entry["_meta"].items() if key.endswith("/card"))["namespace_verified"]

        # No answer changes nothing for a week.
        names.code = RCODE.SERVFAIL
        for failures in range(1, UNANSWERED_MAX + 1):
            found = await proved(registry, Rerouted(names, None), card)
            assert found[0] == (failures < UNANSWERED_MAX), failures
            assert "no answer: unreachable, unreachable" in (found[1] or "")
        names.code = 0
        assert (await proved(registry, Rerouted(names, None), card))[0]

        # An answer without the proof ends it at once; the file is as good as the record, and a redirect is none.
        names.records["example.com"] = ["v=spf1 -all", f"x{text}", "x" * 3000]
        for speech, verified in (
            (page(f"{text}\n"), True),
            (page("", 302, f"Location: https://mcp.example.com/{text}"), False),
            (page(f"# proofs\r\nhansa-verify=1\r\n{text}\r\n"), True),
            (page("<html>" + "x" * 20_000 + f"\n{text}\n"), False),
            (page(text, 404), False),
        ):
            async with host(speech) as web:
                found = await proved(registry, Rerouted(names, web), card)
            assert found[0] == verified, found
        assert found[2] < 600
        names.records["example.com"].append(text)
        assert (await proved(registry, Rerouted(names, None), card))[0], "read over TCP"


async def test_a_verified_card_loses_it_with_its_address_and_what_cannot_be_proved_is_not_asked(
    start_registry,
):
    registry = await start_registry()
    owner = await registry.developer()
    async with zone() as names:
        outgoing = Rerouted(names, None)
        for name, url in (
            ("com/weather", "https://mcp.example.com/mcp"),
            ("com.example/weather", "https://mcp.example.net/mcp"),
            ("com.example.mcp.a/weather", "https://mcp.example.com/mcp"),
            ("uk.co/weather", "https://shop.co.uk/mcp"),
            ("io.github/weather", "https://victim.github.io/mcp"),
            ("com.ample/weather", "https://mcp.example.com/mcp"),
        ):
            card = await imported(owner, document(name, url))
            verified, trouble, _ = await proved(registry, outgoing, card)
            assert (verified, (trouble or "").startswith("The namespace is")) == (False, True), (
                name,
                trouble,
            )
        assert names.asked == []

        card = await imported(owner, document())
        names.records["example.com"] = [card["mcp_server"]["proof"]["txt_value"]]
        assert (await proved(registry, outgoing, card))[0]
        for address in ("https://mcp.example.net/mcp", "https://evil.example.org/mcp"):
            changed = _moved(card["card_data"], address)
            edited = await registry.http.put(
                f"/api/v1/agent-cards/{card['id']}", json={"card_data": changed}, headers=owner.headers
            )
            assert edited.status_code == 200, edited.text
            assert edited.json()["mcp_server"]["verified"] is False
            assert not (await proved(registry, outgoing, card))[0]
        # A deleted card is asked about no more; its job ends with the account.
        names.asked.clear()
        await registry.http.delete(f"/api/v1/agent-cards/{card['id']}", headers=owner.headers)
        await proved(registry, outgoing, card)
        assert names.asked == []
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE catalogue_card SET status = 'revoked', is_active = false")
        )
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE plumbing_job SET due_at = now() WHERE kind = 'namespace proof'")
        )
        await run_due(replace(registry.runtime, outgoing=outgoing), NAMESPACE_PROOFS)
        assert await jobs_of(registry.runtime, "namespace proof") == []


def _moved(card_data: dict[str, Any], address: str) -> dict[str, Any]:
    interface = {"url": address, "protocolBinding": "MCP", "protocolVersion": "2025-11-25"}
    left_out = {"url", "preferredTransport", "protocolVersion", "additionalInterfaces"}
    return {
        **{name: member for name, member in card_data.items() if name not in left_out},
        "supportedInterfaces": [interface],
    }


async def test_an_answer_of_a_name_server_is_read_or_refused():
    question = DNSRecord(q=DNSQuestion("example.com", QTYPE.TXT)).pack()
    good = DNSRecord.parse(question).reply()
    good.add_answer(RR("example.com", QTYPE.TXT, rdata=TXT([b"a", b"b"])))
    assert texts_in(question, good.pack()) == ["ab"]
    for broken in (
        b"",
        question,
        good.pack()[:-2],
        good.pack()[:40],
        b"\xff\xff" + good.pack()[2:],
        good.pack().replace(b"example", b"exbmple"),
        DNSRecord.parse(question).reply().pack()[:6]
        + b"\xff\xff"
        + DNSRecord.parse(question).reply().pack()[8:],
    ):
        with pytest.raises(OutgoingTrouble):
            texts_in(question, broken)
    with pytest.raises(HostUnreachable):
        await SystemTxt([])("example.com")
