"""Operator registries of the own frame that the frame does not certify any more: under quarantine until it does."""

from collections.abc import Collection

from hansa.foundation.events import RegistryQuarantined
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import journal

from . import acts_store, store
from .joining import note_federated
from .records import PeerRecord

REASON = "The frame of this trust domain does not list this registry as an operator any more."
"""The reason of the quarantine; only one with this reason is ended here."""


async def follow_frame(tx: Tx, settings: Settings, listed: Collection[str]) -> list[str]:
    """Quarantine the operators of the own frame whose SPIFFE ids are not listed, and release those that are again.

    Returns the ledger ids of the peers that changed. A quarantine by an administrator stays.
    """
    wanted = [peer.id for peer in await store.all_peers(tx) if _differs(peer, settings, listed)]
    if not wanted:
        return []
    await store.lock_trust(tx)
    changed = [await _changed(tx, settings, listed, peer_id) for peer_id in wanted]
    return [ledger_id for ledger_id in changed if ledger_id is not None]


def _differs(peer: PeerRecord, settings: Settings, listed: Collection[str]) -> bool:
    """Whether the frame states of an operator what is not followed here yet."""
    if peer.spiffe_id is None or peer.removing or peer.peer_type == "frame" or not peer.is_of_frame(settings):
        return False
    if peer.spiffe_id in listed:
        return peer.quarantine_reason == REASON
    return peer.quarantined_at is None


async def _changed(tx: Tx, settings: Settings, listed: Collection[str], peer_id: int) -> str | None:
    peer = await store.lock(tx, peer_id)
    if peer is None or not _differs(peer, settings, listed):
        return None
    if peer.quarantined_at is None:
        await acts_store.quarantine(tx, peer.id, REASON)
        await journal.append(tx, RegistryQuarantined(peer.registry_name, peer.trust_domain))
    else:
        await acts_store.release(tx, peer.id)
        if peer.status == "active":
            await note_federated(tx, peer)
    return peer.ledger_id
