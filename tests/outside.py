"""Hosts outside the registry, played by tests: plain sockets that say the words of a test."""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

Speech = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@dataclass
class Host:
    """Listening host: the number of connections to it, and the requests it received."""

    port: int = 0
    connections: int = 0
    heads: list[str] = field(default_factory=list)
    open_now: int = 0
    most_open: int = 0

    def forget(self) -> None:
        """Count from now on."""
        self.connections = self.most_open = 0
        self.heads.clear()


@asynccontextmanager
async def host(
    speech: Speech | None = None, *, address: str | None = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Host]:
    """A host that answers each connection by `speech`, by default with a short 200; `address` None: on every one."""
    kept = Host()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kept.connections += 1
        kept.open_now += 1
        kept.most_open = max(kept.most_open, kept.open_now)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                kept.heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
                await (speech or say(OK))(reader, writer)
                await writer.drain()
        finally:
            kept.open_now -= 1
            writer.close()

    if address is None:
        server = await _on_both_families(meet)
    else:
        server = await asyncio.start_server(meet, address, 0, ssl=tls)
    kept.port = server.sockets[0].getsockname()[1]
    try:
        yield kept
    finally:
        server.close()


async def _on_both_families(
    meet: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> asyncio.Server:
    """A server on one port of IPv4 and of IPv6; a port that is free in only one of them is given up for another."""
    while True:
        with socket.create_server(("0.0.0.0", 0)) as free:
            port = free.getsockname()[1]
        try:
            return await asyncio.start_server(meet, ["0.0.0.0", "::"], port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def say(answer: bytes) -> Speech:
    """A speech that is always the same."""

    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    return speak


@dataclass
class Names:
    """A name server: for each lookup the next answer, the last one for ever; how often it was asked."""

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, name: str, port: int) -> list[str]:
        self.asked.append(name)
        known = self.answers.get(name.removesuffix("."))
        if known is None:
            raise OSError("no such name")
        return known.pop(0) if len(known) > 1 else known[0]


class Authority:
    """A certificate authority that a test trusts, or not."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        self._certificate = self._signed(self._name, self._key, is_authority=True)

    @property
    def certificate(self) -> str:
        """Its own certificate, as PEM."""
        return self._certificate.public_bytes(Encoding.PEM).decode()

    def trust(self) -> ssl.SSLContext:
        """Return the TLS settings of a client that trusts this authority alone."""
        return ssl.create_default_context(cadata=self.certificate)

    def server(self, directory: Path, name: str, *, days: int = 1) -> ssl.SSLContext:
        """Return the TLS settings of a server with a certificate for `name`; with negative `days` it has ended."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test host")])
        certificate = self._signed(subject, key, name=name, days=days)
        file = directory / f"{name.replace(':', '_')}.pem"
        file.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + certificate.public_bytes(Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        name: str | None = None,
        days: int = 1,
        is_authority: bool = False,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if is_authority:
            usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        if name:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general(name)]), critical=False)
        return builder.sign(self._key, SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
