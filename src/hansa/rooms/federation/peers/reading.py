"""Read peers, and count the refusals of their requests and documents.

A peer with everything that is shown of it.
"""

from collections.abc import Collection
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import peer_refusals_total

from . import store
from .errors import PeerAmbiguous, PeerUnknown
from .records import CountedRefusal, PeerRecord

PRIOR = 0.5
"""The score of a peer without evidence."""


async def peers(tx: Tx) -> list[PeerRecord]:
    """Every peer, by name."""
    return await store.all_peers(tx)


async def peer_by_id(tx: Tx, peer_id: int) -> PeerRecord:
    """The peer with this id. Raises: PeerUnknown."""
    found = await store.one(tx, peer_id)
    if found is None:
        raise PeerUnknown
    return found


async def peer_by_name(tx: Tx, name: str) -> PeerRecord:
    """The peer that NAME means: a ledger id before a registry name or trust domain (Specification 6 W 3).

    Raises: PeerUnknown, PeerAmbiguous.
    """
    found = await store.named(tx, name)
    exact = [peer for peer in found if peer.ledger_id == name]
    if exact or len(found) == 1:
        return (exact or found)[0]
    if not found:
        raise PeerUnknown(f"No peer has the name, trust domain or ledger id {name!r}.")
    raise PeerAmbiguous(context={"ledger_ids": [peer.ledger_id or peer.trust_domain for peer in found]})


async def peer_by_spiffe_id(tx: Tx, spiffe_id: str) -> PeerRecord | None:
    """The peer whose verified card states this SPIFFE id, or None."""
    return await store.of_spiffe_id(tx, spiffe_id)


async def peers_among(tx: Tx, spiffe_ids: Collection[str]) -> frozenset[str]:
    """Those of the SPIFFE ids that the verified card of a peer states."""
    return await store.present_among(tx, spiffe_ids)


async def peers_of_namespace(tx: Tx, namespace: str) -> list[PeerRecord]:
    """The peers that speak for DIDs of this namespace, the nearest first; `is_open` says whether one may be crossed with."""
    return await store.of_namespace(tx, namespace)


async def find_registry(tx: Tx, trust_domain: str, registry_name: str) -> PeerRecord | None:
    """The peer that is this registry, verified or not yet; nobody else changes it until the transaction ends."""
    return await store.lock_registry(tx, trust_domain, registry_name)


async def database_time(tx: Tx) -> datetime:
    """The time by which everything is judged."""
    return await clock.now(tx)


async def refusals_of(tx: Tx, found: list[PeerRecord]) -> dict[int, dict[str, int]]:
    """How often something of these peers was refused: {peer id: {reason: count}}."""
    counted = await store.refusals(tx, [peer.id for peer in found])
    return {peer_id: {one.reason: one.count for one in of_peer} for peer_id, of_peer in counted.items()}


async def trusted_bundles(tx: Tx) -> list[TrustBundle]:
    """The bundles of peers that are not being removed, pending ones too: they get no further than the handshake."""
    return await store.trusted_bundles(tx)


async def trust_version(tx: Tx) -> int:
    """A number that grows with each change of the roots that are trusted."""
    return await store.trust_version(tx)


async def count_refusal(tx: Tx, peer_id: int, reason: str, times: int = 1) -> None:
    """Count that something of a peer was refused, in its row and in /metrics.

    `reason` is a word of lower-case letters, digits and underscores, at most 64 characters.
    """
    await store.count_refusal(tx, peer_id, reason, times)
    peer_refusals_total.labels(reason).inc(times)


class PeerView(msgspec.Struct, frozen=True):
    """Peer, its refusals, and its trust score."""

    peer: PeerRecord
    refusals: list[CountedRefusal]
    score: float

    @property
    def refused(self) -> dict[str, int]:
        """How often something of it was refused, by reason."""
        return {one.reason: one.count for one in self.refusals}

    @property
    def last_refusal(self) -> CountedRefusal | None:
        """The refusal that happened last."""
        return max(self.refusals, key=lambda one: one.last_at, default=None)

    @property
    def lag_seconds(self) -> int | None:
        """Seconds since it was read last; None before the first time."""
        synced_at = self.peer.last_synced_at
        return None if synced_at is None else max(0, int((self.peer.read_at - synced_at).total_seconds()))


async def view_of(tx: Tx, peer: PeerRecord) -> PeerView:
    """Everything that is shown of one peer."""
    return (await _views(tx, [peer]))[0]


async def view_by_name(tx: Tx, name: str) -> PeerView:
    """The peer that NAME means. Raises: PeerUnknown, PeerAmbiguous."""
    return await view_of(tx, await peer_by_name(tx, name))


async def list_peers(tx: Tx, limit: int, offset: int) -> tuple[list[PeerView], int]:
    """A page of peers by name, and how many there are."""
    found, total = await store.page(tx, limit, offset)
    return await _views(tx, found), total


async def every_peer(tx: Tx) -> list[PeerView]:
    """Every approved peer that is not being removed, by name."""
    return await _views(tx, [peer for peer in await store.all_peers(tx) if peer.is_member])


async def _views(tx: Tx, found: list[PeerRecord]) -> list[PeerView]:
    ids = [peer.id for peer in found]
    known = await store.refusals_and_scores(tx, ids)
    return [
        PeerView(peer, refused, PRIOR if score is None else score)
        for peer in found
        for refused, score in [known[peer.id]]
    ]
