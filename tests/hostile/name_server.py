"""A name server that lies: real DNS over UDP, asked by a real client, each answer chosen by the name that is asked for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from dnslib import AAAA, QTYPE, RCODE, RR, A, DNSQuestion, DNSRecord

PUBLIC, PUBLIC_IPV6 = "1.1.1.1", "2606:4700:4700::1111"


@dataclass
class NameServer:
    """Name server with an answer for the first question, the second, and so on; the last of a name's `answers` is repeated."""

    port: int = 0
    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    questions: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, packet: bytes) -> bytes:
        """The answer to one packet."""
        asked = DNSRecord.parse(packet)
        name, kind = str(asked.q.qname).removesuffix("."), QTYPE[asked.q.qtype]
        times = sum(one == (name, kind) for one in self.questions)
        self.questions.append((name, kind))
        said = asked.reply()
        known = self.answers.get(name)
        if known is None:
            said.header.rcode = RCODE.NXDOMAIN
            return said.pack()
        for address in known[min(times, len(known) - 1)]:
            is_ipv6 = ":" in address
            if kind == ("AAAA" if is_ipv6 else "A"):
                data = AAAA(address) if is_ipv6 else A(address)
                # A time to live of nothing: who asks again gets another answer.
                said.add_answer(RR(name, asked.q.qtype, rdata=data, ttl=0))
        return said.pack()

    async def lookup(self, name: str, port: int) -> list[str]:
        """Ask this server as a resolver does, for both kinds of address; an address is its own."""
        bare = name.removesuffix(".")
        if _is_address(bare):
            return [bare]
        found = await asyncio.gather(*(self._ask(bare, kind) for kind in ("A", "AAAA")))
        addresses = [address for part in found for address in part]
        if not addresses:
            raise OSError("no such name")
        return addresses

    async def _ask(self, name: str, kind: str) -> list[str]:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bytes] = loop.create_future()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Client(answered), remote_addr=("127.0.0.1", self.port)
        )
        try:
            transport.sendto(DNSRecord(q=DNSQuestion(name, getattr(QTYPE, kind))).pack())
            record = DNSRecord.parse(await asyncio.wait_for(answered, 5))
        finally:
            transport.close()
        return [str(one.rdata) for one in record.rr]


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


class _Client(asyncio.DatagramProtocol):
    def __init__(self, answered: "asyncio.Future[bytes]") -> None:
        self._answered = answered

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self._answered.done():
            self._answered.set_result(data)


class _Server(asyncio.DatagramProtocol):
    def __init__(self, names: NameServer) -> None:
        self._names = names

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._transport.sendto(self._names.answer(data), addr)


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    """A name server that listens."""
    names = NameServer()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Server(names), local_addr=("127.0.0.1", 0)
    )
    names.port = transport.get_extra_info("sockname")[1]
    try:
        yield names
    finally:
        transport.close()
