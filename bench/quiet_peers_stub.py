"""Peers in which nothing happens: they answer over mutual TLS as registries without news, and read the registry at the same intervals.

Each has a trust domain, an authority and a port of its own. Their documents are those of a registry, unchanged since they were read;
their logs grow with each cycle, and each asks the registry for its cosignature.
"""

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.quiet_peers_log import QuietLog
from hansa.foundation.plumbing.keys.authority import IdentityAuthority, Svid
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle, bundle_of
from hansa.foundation.plumbing.outgoing import (
    Call,
    CallLimits,
    MutualCalls,
    MutualEnd,
    OutgoingTrouble,
    show_certificate,
)
from hansa.rooms.catalogue.exports import page_digest
from hansa.rooms.federation import NewPeer, VerifiedCard
from hansa.rooms.federation.peers.document_marks import MARKS_AT
from hansa_verify import encoded

ETAG = "unchanged"
LIFETIME = timedelta(days=2)
COSIGN = "/witness/add-checkpoint"
LIMITS = CallLimits(seconds=30.0, body_bytes=4 * 1024 * 1024)
READ_SECONDS = {
    MARKS_AT: 300.0,
    "/api/v1/federation/agent-cards?limit=1": 270.0,
    "/api/v1/federation/enforcement?limit=1": 45.0,
    "/witness": 120.0,
    COSIGN: 60.0,
    "/.well-known/auditor-jwks.json": 600.0,
    "/api/v1/federation/peer-trust/mine": 600.0,
}
"""What a registry reads of a peer, and how often."""


@dataclass(frozen=True)
class QuietPeer:
    """One peer: `answers` are the bodies by path, without the query."""

    port: int
    svid: Svid
    bundle: TrustBundle
    kid: str
    log: QuietLog
    answers: dict[str, bytes]

    def as_new(self) -> NewPeer:
        """The row of the peer at the registry that is measured; its public address answers no request."""
        domain, now = self.bundle.trust_domain, datetime.now(UTC)
        card: dict[str, Any] = {"identity": {}, "signature": {"signed_canonical": []}}
        verified = VerifiedCard(
            spiffe_id=self.svid.spiffe_id,
            ledger_id=domain,
            registry_name=domain.partition(".")[0],
            trust_domain=domain,
            did_namespace=domain,
            settlement_currency="AVT",
            federation_base_url=f"https://127.0.0.1:{self.port}",
            text=json.dumps(card),
            etag=ETAG,
            kid=self.kid,
            signed_at=now,
            expires_at=now + timedelta(days=30),
            keys=json.loads(self.answers["/.well-known/registry-jwks.json"]),
            verdicts=[],
        )
        return NewPeer(f"http://127.0.0.1:{self.port}", self.bundle, "approved", card=verified)


def quiet_peer(number: int, port: int, directory: Path) -> QuietPeer:
    """A peer with keys of its own, which are written below the directory."""
    domain = f"quiet-{number}.example"
    authority = IdentityAuthority(Keyring(directory / domain), domain)
    spiffe_id = f"spiffe://{domain}/registry/quiet-{number}"
    svid = authority.issue(spiffe_id, now=datetime.now(UTC), lifetime=LIFETIME, hosts=["127.0.0.1"])
    bundle = bundle_of(domain, authority.bundle_pem, 1)
    public = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    kid, log = f"{spiffe_id}#1", QuietLog(domain)
    page = {
        "items": [],
        "next": "place",
        "more": False,
        "epoch": 1,
        "export_version": 1,
        "digest": page_digest([]),
    }
    said = {
        "/.well-known/registry-jwks.json": {
            "keys": [{"kid": kid, "kty": "OKP", "crv": "Ed25519", "x": encoded(public)}]
        },
        "/.well-known/spiffe-bundle.json": bundle.spiffe(),
        "/api/v1/federation/agent-cards": page,
        "/api/v1/federation/enforcement": page,
        "/api/v1/federation/agent-cards/digest": {"ranges": []},
        "/.well-known/auditor-jwks.json": log.keys,
        "/witness": log.witness,
        MARKS_AT: {
            "card_etag": ETAG,
            "kid": kid,
            "bundle_sequence": bundle.sequence,
            "bundle_sha256": bundle.thumbprint,
        },
    }
    answers = {path: json.dumps(body).encode() for path, body in said.items()}
    return QuietPeer(port, svid, bundle, kid, log, answers)


@asynccontextmanager
async def answering(peers: list[QuietPeer], trusted_pem: str) -> AsyncIterator[None]:
    """Serve the documents of every peer at its port to the registry that has these roots."""
    servers = []
    for peer in peers:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=trusted_pem)
        show_certificate(context, peer.svid)
        servers.append(await asyncio.start_server(_answering(peer), "127.0.0.1", peer.port, ssl=context))
    try:
        yield
    finally:
        for server in servers:
            server.close()


def _answering(peer: QuietPeer):  # type: ignore[no-untyped-def]
    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1].partition("?")[0]
                _, _, length = head.lower().partition("content-length:")
                sent = await reader.readexactly(int(length.partition("\r\n")[0] or 0))
                body = peer.log.cosigned(sent) if path == COSIGN else peer.answers.get(path)
                status = "200 OK" if body is not None else "404 Not Found"
                if path == "/.well-known/registry-card.json":
                    status = "304 Not Modified"
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nPeer-Approval: approved\r\n"
                    f"Content-Length: {len(body or b'')}\r\n\r\n".encode()
                    + (body or b"")
                )
                await writer.drain()
        writer.close()

    return converse


@asynccontextmanager
async def reading(
    peers: list[QuietPeer], base_url: str, spiffe_id: str, roots_pem: str
) -> AsyncIterator[list[str]]:
    """Let every peer read the registry at its intervals; yields the troubles of the calls."""
    calls = MutualCalls([base_url.removeprefix("https://")])
    end = MutualEnd(base_url, spiffe_id, roots_pem)
    troubles: list[str] = []
    tasks = [
        asyncio.create_task(_read(calls, number, peer, end, path, every, troubles))
        for number, peer in enumerate(peers)
        for path, every in READ_SECONDS.items()
    ]
    try:
        yield troubles
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await calls.close()


async def _read(  # noqa: PLR0917
    calls: MutualCalls,
    number: int,
    peer: QuietPeer,
    end: MutualEnd,
    path: str,
    every: float,
    troubles: list[str],
) -> None:
    await asyncio.sleep(random.uniform(0, every))
    since = ""
    while True:
        call = Call("POST", path, peer.log.submission()) if path == COSIGN else Call("GET", path + since)
        try:
            answer = await calls.send(number, end, peer.svid, call, LIMITS)
            if answer.status >= 400:
                troubles.append(f"{path} {answer.status}")
            elif path == COSIGN:
                peer.log.was_cosigned()
            elif "limit=" in path:
                since = f"&since={json.loads(answer.body)['next']}"
        except OutgoingTrouble as error:
            troubles.append(f"{path} {error.reason}")
        await asyncio.sleep(every)
