"""Read a peer anew: its registry card, key set and trust bundle, over mutual TLS, each verified before it replaces the last.

- The card is fetched with If-None-Match; unconditionally once the copy is past half of its window, its key is not the
  current one of the peer (Specification 6 W 22), or the key set is not the stored one.
- A bundle of a higher sequence replaces the last one. A lower one is refused; so are other roots under the same sequence.
- A pending peer that has added this registry too, and says so of the certificate that it was shown, is approved by that.
- A refused document is counted, and the last good documents stay.
"""

from dataclasses import replace
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.keys.trust_bundle import BundleUnreadable, TrustBundle
from hansa.foundation.plumbing.outgoing import MutualEnd, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.federation.identity import set_own_roots
from hansa.rooms.federation.notices import judge_licences_soon
from hansa_verify import NotAKey, NotCanonical, read_json, read_keys

from . import store
from .document_marks import documents_are_known
from .errors import PeerDocumentRefused, PeerUnknown, PeerUnreachable, RootCollision
from .joining import note_federated, require_own_roots, store_card
from .judging import CardRefused, ExpectedRegistry, judge_card
from .local_bundle import local_bundle
from .meeting import Documents, bundle_in_document, read_over_mutual_tls, read_publicly
from .reading import count_refusal, peer_by_id
from .records import PeerRecord, VerifiedCard

LICENCE_HASH = "federation.licence.hash"


class Refreshed(msgspec.Struct, frozen=True):
    """Peer after it was read, and the refusals of its documents."""

    peer: PeerRecord
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    is_known: bool = False
    """It is active, and its documents are those that were stored."""


class _Roots(msgspec.Struct, frozen=True):
    """By which roots a peer is judged, where not by those that it published last.

    `own`: an operator of the same frame is judged by this registry's own, whatever it publishes. `are_followed`: the roots
    of the frame are those of this operator registry too.
    """

    own: TrustBundle | None = None
    are_followed: bool = False


async def refresh_peer(runtime: Runtime, peer_id: int) -> Refreshed:
    """Read a peer and store the verified documents. Never within a transaction.

    Raises: PeerUnreachable, PeerDocumentRefused (counted), PeerUnknown, FederationOff.
    """
    found = await runtime.database.query(lambda tx: store.one_now(tx, peer_id))
    if found is None:
        raise PeerUnknown
    return await refresh_known(runtime, *found)


async def refresh_known(runtime: Runtime, peer: PeerRecord, now: datetime) -> Refreshed:
    """Read a peer as it is `now`, and store the verified documents. See `refresh_peer`."""
    peer_id = peer.id
    roots = await _roots_of(runtime, peer)
    if roots.own is not None:
        peer = replace(peer, bundle=roots.own)
    try:
        if roots == _Roots() and await _is_known(runtime, peer, now):
            await runtime.database.execute(lambda tx: store.note_read(tx, peer_id, approved=True))
            return Refreshed(peer, is_known=True)
        documents, card = await _verified(runtime, peer, now)
    except PeerUnreachable as error:
        reason = error.reason
        await runtime.database.transaction(lambda tx: store.note_trouble(tx, peer_id, reason))
        raise
    except CardRefused as refused:
        await _refuse(runtime, peer_id, refused)
        raise PeerDocumentRefused.of(refused.reason, refused.said) from None
    if card is None and roots == _Roots() and _is_unchanged(peer, documents):
        await runtime.database.execute(lambda tx: store.note_read(tx, peer_id, approved=True))
        return Refreshed(peer)
    return await runtime.database.transaction(lambda tx: _take(tx, peer_id, card, documents, roots))


async def _is_known(runtime: Runtime, peer: PeerRecord, now: datetime) -> bool:
    """Return whether nothing of the peer is to be read but the answer that its documents are unchanged.

    Raises: PeerUnreachable, FederationOff.
    """
    end = peer.end
    if end is None or peer.status != "active" or _is_due(peer, now):
        return False
    try:
        return await documents_are_known(runtime, peer, end)
    except OutgoingTrouble as error:
        raise PeerUnreachable.at(end.base_url, error.reason) from None


def _is_unchanged(peer: PeerRecord, documents: Documents) -> bool:
    """Return whether the peer is active and its bundle the one that is stored: then nothing is written but that it was read."""
    try:
        bundle = bundle_in_document(documents.bundle, peer.trust_domain)
    except BundleUnreadable:
        return False
    stored = (peer.bundle.sequence, peer.bundle.thumbprint)
    return (
        peer.status == "active" and documents.has_added_us and stored == (bundle.sequence, bundle.thumbprint)
    )


async def _verified(
    runtime: Runtime, peer: PeerRecord, now: datetime
) -> tuple[Documents, VerifiedCard | None]:
    """The documents, and the card where it changed. Raises: PeerUnreachable, CardRefused."""
    expected = expected_of(peer, runtime.settings)
    end = peer.end
    if end is None:
        found = await read_publicly(runtime, peer.registry_url)
        assert found.card is not None
        first = judge_card(found.card, found.keys, expected, now=now)
        end = MutualEnd(first.federation_base_url, first.spiffe_id, peer.bundle.pem)
    etag = None if _is_due(peer, now) else peer.card_etag
    documents = await read_over_mutual_tls(runtime, peer.id, end, etag)
    if documents.card is None and not _is_current(peer, documents.keys):
        documents = await read_over_mutual_tls(runtime, peer.id, end, None)
    if documents.card is None:
        return documents, None
    return documents, judge_card(documents.card, documents.keys, expected, now=now)


def expected_of(peer: PeerRecord, settings: Settings) -> ExpectedRegistry:
    """Return the registry that the card of this peer has to be of. Before it was verified the trust domain may stand in place of a name."""
    is_named = peer.card is not None or peer.registry_name != peer.trust_domain
    return ExpectedRegistry(
        peer.trust_domain,
        settings.issuer or None,
        peer.registry_name if is_named else None,
        peer.spiffe_id,
        is_of_own_frame=peer.is_of_frame(settings),
        ledger_id=ledger_expected(peer, settings),
    )


def ledger_expected(peer: PeerRecord, settings: Settings) -> str | None:
    """The ledger id that a peer keeps for good; None where its first card states it.

    Inside the own frame it is known beforehand: only the frame itself is named by the trust domain.
    """
    if not peer.is_of_frame(settings):
        return peer.ledger_id
    is_frame = peer.peer_type == "frame"
    return peer.trust_domain if is_frame else f"{peer.trust_domain}/registry/{peer.registry_name}"


async def _roots_of(runtime: Runtime, peer: PeerRecord) -> _Roots:
    """Raises: FederationOff."""
    if not peer.is_of_frame(runtime.settings):
        return _Roots()
    if peer.peer_type == "frame":
        return _Roots(are_followed=True)
    return _Roots(own=await local_bundle(runtime))


def _is_due(peer: PeerRecord, now: datetime) -> bool:
    """Return whether the copy of the card is past half of its window, or another card was refused since."""
    was_refused = not all(verdict["ok"] for verdict in peer.card_verdicts)
    if was_refused or peer.card_signed_at is None or peer.card_expires_at is None:
        return True
    return now >= peer.card_signed_at + (peer.card_expires_at - peer.card_signed_at) / 2


def _is_current(peer: PeerRecord, keys: str) -> bool:
    """Return whether the key that signed the copy is the peer's present one, and its keys are those that are stored.

    The entity tag of the card covers neither. Raises: CardRefused.
    """
    try:
        document = read_json(keys)
        found = read_keys(document)
    except (NotCanonical, NotAKey) as error:
        raise CardRefused("keys_unreadable", str(error), []) from None
    signed_by_present = any(key.kid == peer.card_kid and key.retired_at is None for key in found)
    return signed_by_present and document == peer.keys


async def _refuse(runtime: Runtime, peer_id: int, refused: CardRefused) -> None:
    async def count(tx: Tx) -> None:
        await count_refusal(tx, peer_id, refused.reason)
        await store.note_refused_card(tx, peer_id, refused.reason, refused.verdicts)

    await runtime.database.transaction(count)


async def _take(
    tx: Tx, peer_id: int, card: VerifiedCard | None, documents: Documents, roots: _Roots
) -> Refreshed:
    await store.lock_trust(tx)
    peer = await store.lock(tx, peer_id)
    if peer is None or peer.removing:
        raise PeerUnknown
    if card is not None:
        stored = await store_card(tx, peer_id, card)
        if stored.signed.get(LICENCE_HASH) != peer.signed.get(LICENCE_HASH):
            await judge_licences_soon(tx)
    refused = await _take_bundle(tx, peer, documents.bundle, roots)
    await store.note_read(tx, peer_id, approved=documents.has_added_us)
    activated = await store.activate(tx, peer_id)
    if activated is not None:
        await note_federated(tx, activated)
    return Refreshed(activated or await peer_by_id(tx, peer_id), refused)


async def _take_bundle(tx: Tx, peer: PeerRecord, text: str, roots: _Roots) -> dict[str, int]:
    """Store a newer bundle. Returns the refusals, by reason."""
    if roots.own is not None:
        await store.set_bundle(tx, peer.id, roots.own)
        return {}
    reason = await _refused_bundle(tx, peer, text, roots)
    if reason is None:
        return {}
    await count_refusal(tx, peer.id, reason)
    return {reason: 1}


async def _refused_bundle(tx: Tx, peer: PeerRecord, text: str, roots: _Roots) -> str | None:
    try:
        bundle = bundle_in_document(text, peer.trust_domain)
    except BundleUnreadable:
        return "bundle_unreadable"
    if reason := bundle_trouble(peer.bundle, bundle):
        return reason
    try:
        await require_own_roots(tx, bundle)
    except RootCollision:
        return "bundle_root_collision"
    await store.set_bundle(tx, peer.id, bundle)
    if roots.are_followed:
        await set_own_roots(tx, bundle.pem)
    return None


def bundle_trouble(last: TrustBundle, new: TrustBundle) -> str | None:
    """Why a bundle that was read over mutual TLS does not replace the last one; None: it may."""
    if new.sequence < last.sequence and last.sequence:
        return "bundle_sequence_lower"
    if new.sequence == last.sequence and new.thumbprint != last.thumbprint:
        return "bundle_sequence_reused"
    return None
