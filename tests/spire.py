"""A SPIRE agent as a registry meets it: a gRPC server on a Unix socket that speaks the Workload API, with certificates in SPIRE's form.

    async with SpireAgent(directory / "api.sock", "a.example") as agent:
        agent.entries = ["spiffe://a.example/registry/a"]       # sent to every open stream at once
        await agent.stop(); await agent.start()                  # out of reach, and back

The messages are built from the whole official definition (spiffe/go-spiffe, workload.proto), not from the part that the registry reads.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import grpc.aio
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

HOUR = timedelta(hours=1)


def _messages() -> dict[str, Any]:
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="workload.proto", syntax="proto3")
    file.message_type.add(name="X509SVIDRequest")
    answer = file.message_type.add(name="X509SVIDResponse")
    entry = answer.nested_type.add(name="FederatedBundlesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=kinds.TYPE_BYTES, label=kinds.LABEL_OPTIONAL)
    for name, number, of in (
        ("svids", 1, ".X509SVID"),
        ("federated_bundles", 3, ".X509SVIDResponse.FederatedBundlesEntry"),
    ):
        answer.field.add(
            name=name, number=number, type=kinds.TYPE_MESSAGE, type_name=of, label=kinds.LABEL_REPEATED
        )
    answer.field.add(name="crl", number=2, type=kinds.TYPE_BYTES, label=kinds.LABEL_REPEATED)
    svid = file.message_type.add(name="X509SVID")
    for name, number, kind in (
        ("spiffe_id", 1, kinds.TYPE_STRING),
        ("x509_svid", 2, kinds.TYPE_BYTES),
        ("x509_svid_key", 3, kinds.TYPE_BYTES),
        ("bundle", 4, kinds.TYPE_BYTES),
        ("hint", 5, kinds.TYPE_STRING),
    ):
        svid.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        for name in ("X509SVIDRequest", "X509SVIDResponse", "X509SVID")
    }


MESSAGES = _messages()


@dataclass(frozen=True)
class Leaf:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def key_der(self) -> bytes:
        return self.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    @property
    def key_pem(self) -> str:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


class SpireAuthority:
    """The authority of a SPIRE server, which signs itself."""

    def __init__(self, trust_domain: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._signed(
            f"spiffe://{trust_domain}", self.key, "SPIFFE", 24 * HOUR, is_root=True
        )

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def leaf(self, spiffe_id: str, lifetime: timedelta = HOUR) -> Leaf:
        key = ec.generate_private_key(ec.SECP256R1())
        return Leaf(self._signed(spiffe_id, key, "SPIRE", lifetime, is_root=False), key)

    def _signed(
        self, uri: str, key: ec.EllipticCurvePrivateKey, name: str, lifetime: timedelta, *, is_root: bool
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        usage = dict.fromkeys(
            (
                "content_commitment",
                "data_encipherment",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name("SPIFFE"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now, now + lifetime) - timedelta(minutes=1))
            .not_valid_after(now + lifetime)
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=is_root, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=not is_root,
                    key_encipherment=not is_root,
                    key_agreement=not is_root,
                    key_cert_sign=is_root,
                    crl_sign=is_root,
                    **usage,
                ),
                critical=True,
            )
        )
        if not is_root:
            both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False).add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
            )
        return builder.sign(self.key, SHA256())


def _name(organisation: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "US"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation),
        ]
    )


class SpireAgent:
    """The agent. Its roots are `authorities`, the first of which signs."""

    def __init__(self, socket: Path, trust_domain: str, entries: Sequence[str]) -> None:
        self.socket = socket
        self.trust_domain = trust_domain
        self.authorities = [SpireAuthority(trust_domain)]
        self.entries = list(entries)
        self.lifetime = HOUR
        self.streams_begun = 0
        self.messages_per_stream: int | None = None
        """After so many messages each stream ends; None: it stays open."""
        self.raw: bytes | None = None
        """What is sent in place of the entries."""
        self._leaves: dict[str, Leaf] = {}
        self._changed = asyncio.Condition()
        self._server: Any = None

    async def __aenter__(self) -> Self:
        self.renew()
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        handler = grpc.unary_stream_rpc_method_handler(
            self._fetch,
            request_deserializer=MESSAGES["X509SVIDRequest"].FromString,
            response_serializer=bytes,
        )
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("SpiffeWorkloadAPI", {"FetchX509SVID": handler})]
        )
        self._server.add_insecure_port(f"unix:{self.socket}")
        await self._server.start()

    async def stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.stop(0)
            self.socket.unlink(missing_ok=True)

    def renew(self) -> None:
        """Certify every entry anew by the first of the authorities; it is sent with the next `send`."""
        self._leaves = {uri: self.authorities[0].leaf(uri, self.lifetime) for uri in self.entries}

    async def send(self) -> None:
        """Send the present state to every stream."""
        async with self._changed:
            self._changed.notify_all()

    def shown(self, spiffe_id: str) -> x509.Certificate:
        return self._leaves[spiffe_id].certificate

    async def _fetch(self, _: Any, context: Any) -> AsyncIterator[bytes]:
        if dict(context.invocation_metadata()).get("workload.spiffe.io") != "true":
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "security header missing from request")
        self.streams_begun += 1
        sent = 0
        while self.messages_per_stream is None or sent < self.messages_per_stream:
            if not self.entries and self.raw is None:
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, "no identity issued")
            yield self.answer() if self.raw is None else self.raw
            sent += 1
            if sent != self.messages_per_stream:
                async with self._changed:
                    await self._changed.wait()

    def answer(self) -> bytes:
        bundle = b"".join(one.der for one in self.authorities)
        message = MESSAGES["X509SVIDResponse"](
            federated_bundles={"spiffe://elsewhere.example": SpireAuthority("elsewhere.example").der},
            crl=[b"unused"],
        )
        for uri in self.entries:
            leaf = self._leaves[uri]
            message.svids.add(
                spiffe_id=uri,
                x509_svid=leaf.certificate.public_bytes(Encoding.DER),
                x509_svid_key=leaf.key_der,
                bundle=bundle,
                hint="internal",
            )
        encoded: bytes = message.SerializeToString()
        return encoded
