"""Another registry as this one meets it: its documents and signed invitations, without a process or a database.

`let_reach(runtime, other, …)` lets the calls of a registry reach such registries instead of the network. Change `card_changes`,
`bundle`, `key` or `answers` to have one misbehave.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle, bundle_of
from hansa.foundation.plumbing.outgoing import (
    Answer,
    Call,
    CallLimits,
    CertificateRefused,
    HostUnreachable,
    MutualEnd,
    NamedBy,
)
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.values.jwk import jwk_of
from hansa.rooms.federation import (
    PEER_CALLS,
    SYNC_PEER,
    PeerRecord,
    SigningKey,
    SyncOutcome,
    note_synced,
    registry_id_of,
)
from hansa.rooms.federation.charter.card_content import CardFacts, card_body
from hansa.rooms.federation.charter.card_publication import card_etag, signature_block
from hansa.rooms.federation.invitations.documents import Kind, Party, sign
from hansa.rooms.federation.peers.document_marks import MARKS_AT

WELL_KNOWN = "/.well-known"


class OtherRegistry:
    """A registry of another trust domain at `https://<trust domain>`; peers dial it at port 8443."""

    def __init__(self, trust_domain: str = "other.example.com", name: str = "other") -> None:
        self.trust_domain, self.name = trust_domain, name
        self.public_url = f"https://{trust_domain}"
        self.federation_base_url = f"https://{trust_domain}:8443"
        self.private = Ed25519PrivateKey.generate()
        self.sequence = 1
        self.bundle = self.new_bundle(1)
        self.served_by = self.bundle.pem
        """The root, in PEM, under which its listener shows its certificate."""
        self.card_changes: dict[str, Any] = {}
        self.signed_at = datetime.now(UTC)
        self.answers: dict[str, tuple[int, str]] = {}
        self.is_reachable = True
        self.has_added_us = True
        self.states_documents = False
        """Whether it answers what peers compare its documents by; registries of older versions do not."""
        self.asked: list[tuple[str, Mapping[str, str]]] = []
        self.settings: dict[str, object] = {}
        """Settings beside name, trust domain and addresses, of which its card is made."""

    @property
    def spiffe_id(self) -> str:
        return registry_id_of(self.trust_domain, self.name)

    @property
    def key(self) -> SigningKey:
        kid = f"{self.spiffe_id}#{self.sequence}"
        return SigningKey(kid, self.sequence, self.signed_at, self.private, self.signed_at)

    @property
    def party(self) -> Party:
        return Party(
            self.trust_domain, self.name, self.public_url, self.federation_base_url, self.bundle.thumbprint
        )

    def new_bundle(self, sequence: int) -> TrustBundle:
        """A bundle with one new root."""
        with TemporaryDirectory() as directory:
            authority = IdentityAuthority(Keyring(Path(directory)), self.trust_domain)
        return bundle_of(self.trust_domain, authority.bundle_pem, sequence)

    def rotate(self) -> None:
        """Sign with another key from now on."""
        self.private, self.sequence = Ed25519PrivateKey.generate(), self.sequence + 1

    def card(self) -> dict[str, Any]:
        """The signed registry card, with `card_changes` in its block `identity`."""
        settings = read_settings(
            trust_domain=self.trust_domain,
            registry_name=self.name,
            public_base_url=self.public_url,
            federation_base_url=self.federation_base_url,
            **self.settings,
        )
        body = card_body(settings, CardFacts(self.signed_at, {}, None))
        body["identity"] = {**body["identity"], **self.card_changes}
        lifecycle = {
            "card_etag": card_etag(body),
            "generated_at": self.signed_at.isoformat(),
            "status": "active",
        }
        card = {**body, "lifecycle": lifecycle}
        return {**card, "signature": signature_block(card, self.key)}

    def signed(
        self,
        kind: Kind,
        jti: UUID | str | None = None,
        lifetime: timedelta = timedelta(days=1),
        *,
        operator: str | None = None,
        csrs: Sequence[str] = (),
    ) -> str:
        """An invitation or acceptance by this registry."""
        named = UUID(str(jti)) if jti else uuid4()
        ends_at = self.signed_at + lifetime
        return sign(kind, self.key, self.party, named, ends_at, operator=operator, csrs=csrs)

    def answer_to_body(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Return the answer to a request with a body; a registry of another trust domain reads none."""
        del body
        return self.answer(path, headers)

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Return the answer to a request for one of its documents."""
        self.asked.append((path, headers))
        if path in self.answers:
            status, body = self.answers[path]
            return Answer(status, {}, body.encode())
        if path == f"{WELL_KNOWN}/registry-jwks.json":
            public = self.private.public_key().public_bytes_raw()
            key = {**jwk_of(public), "kid": self.key.kid, "use": "sig", "alg": "EdDSA"}
            return _json({"keys": [key]})
        if path == f"{WELL_KNOWN}/spiffe-bundle.json":
            approval = {"peer-approval": "pending"} if self.has_added_us else {}
            return Answer(200, approval, json.dumps(self.bundle.spiffe()).encode())
        if path == f"{WELL_KNOWN}/registry-card.json":
            card = self.card()
            etag = f'"{card["lifecycle"]["card_etag"]}"'
            return Answer(304, {}, b"") if headers.get("If-None-Match") == etag else _json(card)
        if path == MARKS_AT and self.states_documents:
            return _json(
                {
                    "card_etag": self.card()["lifecycle"]["card_etag"],
                    "kid": self.key.kid,
                    "bundle_sequence": self.bundle.sequence,
                    "bundle_sha256": self.bundle.thumbprint,
                }
            )
        return Answer(404, {}, b"{}")


def let_reach(runtime: Runtime, *others: OtherRegistry) -> None:
    """From now on calls reach these registries, public ones and those over mutual TLS; all other hosts are down."""
    # The two places at which a process leaves for the network.
    vars(runtime.outgoing)["send"] = _PublicNetwork(others).send
    PEER_CALLS.put(runtime, _MutualNetwork(others))  # type: ignore[arg-type]
    SYNC_PEER.put(runtime, _no_cards)


async def _no_cards(runtime: Runtime, peer: PeerRecord) -> SyncOutcome:
    """These registries have no agents."""
    await runtime.database.transaction(lambda tx: note_synced(tx, [peer.id]))
    return SyncOutcome()


class _PublicNetwork:
    """In place of the calls to public hosts."""

    def __init__(self, others: tuple[OtherRegistry, ...]) -> None:
        self._others = others

    async def send(
        self,
        _: str,
        url: str,
        body: bytes | None = None,
        *,
        named_by: NamedBy,
        headers: Any = None,
        limits: CallLimits,
    ) -> Answer:
        del named_by, limits
        for other in self._others:
            if other.is_reachable and url.startswith(f"{other.public_url}/"):
                return _answer_of(other, url.removeprefix(other.public_url), body, headers or {})
        raise HostUnreachable


class _MutualNetwork:
    """In place of the calls over mutual TLS; the roots that the caller trusts have to be those of the registry."""

    def __init__(self, others: tuple[OtherRegistry, ...]) -> None:
        self._others = others

    async def send(self, _: int, end: MutualEnd, __: object, call: Call, ___: CallLimits) -> Answer:
        for other in self._others:
            if other.is_reachable and (end.base_url, end.spiffe_id) == (
                other.federation_base_url,
                other.spiffe_id,
            ):
                if other.served_by not in end.roots_pem:
                    raise CertificateRefused
                return _answer_of(other, call.url, call.body, call.headers)
        raise HostUnreachable

    async def forget(self, _: int) -> None:
        """Nothing is open."""

    async def close(self) -> None:
        """Nothing is open."""


def _answer_of(other: OtherRegistry, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
    return other.answer(path, headers) if body is None else other.answer_to_body(path, body, headers)


def _json(document: Any) -> Answer:
    return Answer(200, {}, json.dumps(document).encode())
