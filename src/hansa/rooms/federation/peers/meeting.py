"""Read another registry: at its public address before it is known, over mutual TLS once it is.

The documents are judged elsewhere. Never within a transaction.

Call a peer over mutual TLS, as this registry.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hansa.foundation.plumbing.keys.trust_bundle import (
    BUNDLE_MAX_BYTES,
    BundleUnreadable,
    TrustBundle,
    read_bundle,
)
from hansa.foundation.plumbing.outgoing import (
    Answer,
    Call,
    CallLimits,
    MutualCalls,
    MutualEnd,
    NamedBy,
    OutgoingTrouble,
)
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms.federation.identity import LOCAL_IDENTITY

from .errors import PeerUnreachable
from .records import PeerRecord

CARD_AT = "/.well-known/registry-card.json"
KEYS_AT = "/.well-known/registry-jwks.json"
BUNDLE_AT = "/.well-known/spiffe-bundle.json"
DOCUMENT = CallLimits(seconds=10.0, body_bytes=BUNDLE_MAX_BYTES)
APPROVAL_HEADER = "Peer-Approval"
OK, NOT_MODIFIED = 200, 304
CALL_LIMITS = CallLimits(seconds=10.0, body_bytes=2 * 1024 * 1024)

PEER_CALLS: Slot[MutualCalls] = Slot(
    "federation: connections to peers",
    build=lambda runtime: MutualCalls(runtime.settings.outgoing_allow_hosts),
)


class DocumentMissing(OutgoingTrouble):
    """The registry answers, but not with the document."""

    reason = "document_missing"


@dataclass(frozen=True)
class Documents:
    """Documents that a registry publishes, as they were read. `card` is None where it is unchanged.

    `has_added_us`: it knows the certificate that was shown as that of a peer, pending or approved.
    """

    card: str | None = field(repr=False)
    keys: str = field(repr=False)
    bundle: str = field(repr=False)
    has_added_us: bool = False


async def read_publicly(runtime: Runtime, registry_url: str) -> Documents:
    """The documents at the public address of a registry. Raises: PeerUnreachable."""

    async def read(path: str) -> str:
        return _text(
            await runtime.outgoing.get(registry_url + path, named_by=NamedBy.OPERATOR, limits=DOCUMENT)
        )

    try:
        return Documents(await read(CARD_AT), await read(KEYS_AT), await read(BUNDLE_AT))
    except OutgoingTrouble as error:
        raise PeerUnreachable.at(registry_url, error.reason) from None


async def read_over_mutual_tls(runtime: Runtime, peer_id: int, end: MutualEnd, etag: str | None) -> Documents:
    """The documents of a registry that proves its identity; with `etag` the card only where it changed.

    Raises: PeerUnreachable, FederationOff.
    """

    async def read(path: str, headers: dict[str, str] | None = None) -> Answer:
        return await call_end(runtime, peer_id, end, Call("GET", path, headers=headers or {}), DOCUMENT)

    try:
        card = await read(CARD_AT, {"If-None-Match": f'"{etag}"'} if etag else None)
        is_unchanged = etag is not None and card.status == NOT_MODIFIED
        keys, bundle = await read(KEYS_AT), await read(BUNDLE_AT)
        has_added_us = APPROVAL_HEADER.lower() in bundle.headers
        return Documents(None if is_unchanged else _text(card), _text(keys), _text(bundle), has_added_us)
    except OutgoingTrouble as error:
        raise PeerUnreachable.at(end.base_url, error.reason) from None


def bundle_in_document(text: str, trust_domain: str) -> TrustBundle:
    """The bundle of that trust domain in the SPIFFE form. Raises: BundleUnreadable."""
    if text.lstrip().startswith("-----BEGIN"):
        raise BundleUnreadable("a published trust bundle has the SPIFFE form in JSON")
    return read_bundle(text, trust_domain)


def _text(answer: Answer) -> str:
    """Raises: DocumentMissing."""
    if answer.status != OK:
        raise DocumentMissing
    try:
        return answer.body.decode()
    except UnicodeDecodeError:
        raise DocumentMissing from None


async def call_peer(
    runtime: Runtime,
    peer: PeerRecord,
    method: str,
    path: str,
    body: Any = None,
    *,
    limits: CallLimits = CALL_LIMITS,
) -> Answer:
    """Call a route of a peer; `body` is sent as JSON, as it is where it is bytes. Never within a transaction.

    `path` begins with `/api/v1` or names a root path. Whatever the status is, it is an answer.

    Raises: OutgoingTrouble (a `reason` that may be stored), PeerClosed before its card was verified, FederationOff.
    """
    end = peer.end
    if end is None:
        raise PeerClosed("The registry card of this peer was not verified yet.")
    if body is None or isinstance(body, bytes):
        call = Call(method, path, body)
    else:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        call = Call(method, path, content, {"Content-Type": "application/json"})
    return await call_end(runtime, peer.id, end, call, limits)


async def call_end(runtime: Runtime, peer_id: int, end: MutualEnd, call: Call, limits: CallLimits) -> Answer:
    """Call a registry whose address and identity are known before they are stored. See `call_peer`."""
    own = await LOCAL_IDENTITY.of(runtime).svid()
    return await PEER_CALLS.of(runtime).send(peer_id, end, own, call, limits)


@asynccontextmanager
async def connections_to_peers(runtime: Runtime) -> AsyncIterator[None]:
    """Close the connections to peers at the end of the process."""
    try:
        yield
    finally:
        await PEER_CALLS.of(runtime).close()
