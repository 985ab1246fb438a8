"""The SPIFFE Workload API: the certificate that a SPIRE agent on this machine issues to the registry (SPIFFE Workload API, section 5).

- One stream (`FetchX509SVID`) on a Unix socket. The agent sends the certificate, its key and the roots together, and sends them
  again when one of them changes. The stream is opened again after each end, with a pause that doubles.
- Of several identities the one of the registry counts, compared as it is written; the others are left aside.
- A received certificate counts until its end, also while the agent is out of reach. An unusable one replaces nothing.
"""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import structlog
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)

from hansa.foundation.plumbing.keys.authority import Svid
from hansa.foundation.plumbing.keys.trust_bundle import BundleUnreadable, LeafRefused, bundle_of, uris_of
from hansa.foundation.plumbing.settings import BadSetting
from hansa.foundation.plumbing.settings.extras import command_to_install
from hansa.foundation.plumbing.telemetry.job_health import JobHealth, OutsideTrouble

FETCH = "/SpiffeWorkloadAPI/FetchX509SVID"
# Without it an agent refuses the call: no browser and no forwarded request can set it.
HEADER = ("workload.spiffe.io", "true")
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0
FIRST_ANSWER_SECONDS = 5.0
HEALTH_NAME = "federation: certificate of the Workload API"
SEQUENCE_TAG = 0x30

_log = structlog.get_logger()


class AgentUnreachable(OutsideTrouble):
    """The stream ended, or could not be opened; the message is one line."""


class IdentityUnusable(OutsideTrouble):
    """The agent sent no usable certificate of this registry; the message is one line."""


@dataclass(frozen=True)
class SentSvid:
    """One identity as the agent sent it: certificates and roots in DER, one after the other, and the key (PKCS #8)."""

    spiffe_id: str
    certificates: bytes
    key: bytes = field(repr=False)
    roots: bytes


class WorkloadIdentity:
    """The identity `spiffe_id` of this process, as the agent behind the socket sent it last."""

    def __init__(self, socket: Path, spiffe_id: str, trust_domain: str, health: JobHealth) -> None:
        self._socket = socket
        self._spiffe_id = spiffe_id
        self._trust_domain = trust_domain
        self._health = health
        self._svid: Svid | None = None
        self._revision = 0
        self._answered = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    @property
    def revision(self) -> int:
        """Another number whenever another identity is to be shown: after a new certificate, new roots, or the end of the present one."""
        return self._revision if self._in_force() else -self._revision

    async def current(self) -> Svid | None:
        """The newest identity in force; None where there is none. Waits a few seconds for the first answer of the agent."""
        self.follow()
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_ANSWER_SECONDS):
                await self._answered.wait()
        return self._in_force()

    def follow(self) -> None:
        """Open the stream in this loop, unless it is open."""
        if self._following is None:
            self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """End the stream."""
        task, self._following = self._following, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _in_force(self) -> Svid | None:
        held = self._svid
        return None if held is None or held.expires_at <= datetime.now(UTC) else held

    async def _follow(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                async for message in streamed(self._socket):
                    pause = FIRST_PAUSE_SECONDS
                    self._receive(message)
            except AgentUnreachable as error:
                self._failed(error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _receive(self, message: bytes) -> None:
        try:
            svid = usable(read_message(message), self._spiffe_id, self._trust_domain)
        except IdentityUnusable as error:
            self._failed(error)
            return
        self._health.succeeded(HEALTH_NAME)
        if svid != self._svid:
            self._svid, self._revision = svid, self._revision + 1
            _log.info(
                "certificate received from the Workload API",
                spiffe_id=svid.spiffe_id,
                expires_at=svid.expires_at.isoformat(),
            )
        self._answered.set()

    def _failed(self, error: Exception) -> None:
        self._health.failed(HEALTH_NAME, error)
        # A wait for the first answer ends: the agent will not answer soon.
        self._answered.set()


def require_agent(socket: Path | None) -> None:
    """Raises: BadSetting, where there is no socket of an agent or the library is not installed."""
    assert socket is not None, "the settings require one"
    if find_spec("grpc") is None:
        raise BadSetting(f"AGENT_IDENTITY_ISSUER='spire' is refused: {_package_missing()}")
    try:
        is_socket = stat.S_ISSOCK(socket.stat().st_mode)
    except OSError as error:
        raise BadSetting(
            f"SPIFFE_ENDPOINT_SOCKET='unix://{socket}' is refused: {error.strerror}; start the SPIRE agent first"
        ) from None
    if not is_socket:
        raise BadSetting(f"SPIFFE_ENDPOINT_SOCKET='unix://{socket}' is refused: it is no socket")


def _package_missing() -> str:
    return f"it needs the package grpcio; run: {command_to_install('spire')}"


async def streamed(socket: Path) -> AsyncIterator[bytes]:
    """The messages of the agent (X509SVIDResponse), from the present identities on. Raises: AgentUnreachable, at the end of the stream too."""
    # The library writes to standard error by itself, beside the log.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from grpc import aio
    except ImportError:
        raise AgentUnreachable(_package_missing()) from None
    async with aio.insecure_channel(f"unix:{socket}") as channel:
        call = channel.unary_stream(FETCH, request_serializer=bytes, response_deserializer=bytes)
        try:
            async for message in call(b"", metadata=[HEADER]):
                yield message
        except aio.AioRpcError as failure:
            raise AgentUnreachable(f"{failure.code().name}: {failure.details()}") from None
    raise AgentUnreachable("the agent ended the stream")


def read_message(message: bytes) -> list[SentSvid]:
    """The identities in a message of the agent. Raises: IdentityUnusable."""
    from google.protobuf.message import DecodeError

    try:
        answer = _answer_type().FromString(message)
    except DecodeError:
        raise IdentityUnusable("the message of the agent cannot be read") from None
    return [SentSvid(one.spiffe_id, one.x509_svid, one.x509_svid_key, one.bundle) for one in answer.svids]


def usable(sent: list[SentSvid], spiffe_id: str, trust_domain: str) -> Svid:
    """The identity of the registry among those that were sent. Raises: IdentityUnusable."""
    found = next((one for one in sent if one.spiffe_id == spiffe_id), None)
    if found is None:
        named = ", ".join(one.spiffe_id for one in sent) or "none"
        raise IdentityUnusable(f"expected an entry for {spiffe_id}, the agent has {named}")
    try:
        certificates = [x509.load_der_x509_certificate(der) for der in _split(found.certificates)]
        key = load_der_private_key(found.key, password=None)
        roots = "".join(_pem(x509.load_der_x509_certificate(der)) for der in _split(found.roots))
        bundle = bundle_of(trust_domain, roots, 0)
    except (ValueError, TypeError, UnsupportedAlgorithm, BundleUnreadable) as error:
        raise IdentityUnusable(f"what the agent sent cannot be read: {error}") from None
    if not certificates or not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise IdentityUnusable("expected a certificate with an EC or RSA key")
    leaf = certificates[0]
    if uris_of(leaf) != [spiffe_id] or leaf.public_key() != key.public_key():
        raise IdentityUnusable("the certificate is not that of the identity and the key beside it")
    try:
        bundle.recognise(leaf, now=datetime.now(UTC))
    except LeafRefused:
        raise IdentityUnusable(
            "the certificate is not in force, or none of the roots signed it itself; intermediate authorities are not supported"
        ) from None
    return Svid(
        spiffe_id=spiffe_id,
        certificate_pem="".join(map(_pem, certificates)),
        key_pem=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        bundle_pem=bundle.pem,
        expires_at=leaf.not_valid_after_utc,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _split(joined: bytes) -> Iterator[bytes]:
    """The DER documents that stand one after the other. Raises: ValueError."""
    while joined:
        if joined[0] != SEQUENCE_TAG or len(joined) < 2:  # noqa: PLR2004
            raise ValueError("a certificate in DER begins with a sequence")
        size, head = joined[1], 2
        if size & 0x80:
            head += size & 0x7F
            size = int.from_bytes(joined[2:head], "big")
        if len(joined) < head + size:
            raise ValueError("a certificate in DER is cut off")
        yield joined[: head + size]
        joined = joined[head + size :]


@cache
def _answer_type() -> Any:
    """The message X509SVIDResponse; of its members only those that are read, the others are passed over."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="hansa/workload.proto", syntax="proto3")
    svid = file.message_type.add(name="X509SVID")
    svid.field.add(name="spiffe_id", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    for number, name in enumerate(("x509_svid", "x509_svid_key", "bundle"), start=2):
        svid.field.add(name=name, number=number, type=kinds.TYPE_BYTES, label=kinds.LABEL_OPTIONAL)
    answer = file.message_type.add(name="X509SVIDResponse")
    answer.field.add(
        name="svids",
        number=1,
        type=kinds.TYPE_MESSAGE,
        type_name=".X509SVID",
        label=kinds.LABEL_REPEATED,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("X509SVIDResponse"))
