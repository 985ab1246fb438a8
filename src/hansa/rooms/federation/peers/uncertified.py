"""Operator registries of the own frame that the frame does not certify any more, or may not: under quarantine until it does.

The frame's last list counts for FRAME_ROSTER_MAX_AGE_HOURS. After that it is unknown which operators it still certifies, and all
of them are under quarantine until it answers (decision 0137).
"""

from collections.abc import Collection

from hansa.foundation.events import RegistryQuarantined
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import acts_store, store
from .joining import note_federated
from .records import PeerRecord

REASON = "The frame of this trust domain does not list this registry as an operator any more."
UNKNOWN = "The frame of this trust domain has not answered for so long that it is unknown whether this registry is still an operator."
"""The reasons of quarantines that begin and end here."""


async def follow_frame(tx: Tx, settings: Settings, frame: PeerRecord, listed: Collection[str]) -> list[str]:
    """Quarantine the operators of the own frame whose SPIFFE ids are not listed, and release those that are again.

    Returns the ledger ids of the peers that changed. A quarantine by an administrator stays.
    """
    await acts_store.note_roster_read(tx, frame.id)
    required = {
        peer.id: None if peer.spiffe_id in listed else REASON for peer in await _operators(tx, settings)
    }
    return await _set_quarantines(tx, settings, required)


async def doubt_operators(tx: Tx, settings: Settings, frame: PeerRecord) -> list[str]:
    """Quarantine the operators of a frame that did not answer if its last list is too old. Returns their ledger ids."""
    if not await acts_store.is_roster_older(tx, frame.id, settings.frame_roster_max_age_hours):
        return []
    listed = [peer for peer in await _operators(tx, settings) if peer.quarantined_at is None]
    return await _set_quarantines(tx, settings, {peer.id: UNKNOWN for peer in listed})


async def _operators(tx: Tx, settings: Settings) -> list[PeerRecord]:
    return [peer for peer in await store.all_peers(tx) if _is_operator(peer, settings)]


def _is_operator(peer: PeerRecord, settings: Settings) -> bool:
    is_known = peer.spiffe_id is not None and not peer.removing
    return is_known and peer.peer_type != "frame" and peer.is_of_frame(settings)


async def _set_quarantines(tx: Tx, settings: Settings, required: dict[int, str | None]) -> list[str]:
    """Give these operators the quarantine that is required, None for no quarantine of this module."""
    differing = [
        peer
        for peer in await store.all_peers(tx)
        if peer.id in required and _differs(peer, required[peer.id])
    ]
    if not differing:
        return []
    await store.lock_trust(tx)
    changed = [await _changed(tx, settings, peer.id, required[peer.id]) for peer in differing]
    return [ledger_id for ledger_id in changed if ledger_id is not None]


def _differs(peer: PeerRecord, reason: str | None) -> bool:
    is_own = peer.quarantine_reason in {REASON, UNKNOWN}
    if peer.quarantined_at is not None and not is_own:
        return False
    return (peer.quarantine_reason if is_own else None) != reason


async def _changed(tx: Tx, settings: Settings, peer_id: int, reason: str | None) -> str | None:
    peer = await store.lock(tx, peer_id)
    if peer is None or not _is_operator(peer, settings) or not _differs(peer, reason):
        return None
    was_quarantined = peer.quarantined_at is not None
    if was_quarantined:
        await acts_store.release(tx, peer.id)
    if reason is not None:
        await acts_store.quarantine(tx, peer.id, reason)
    if reason is None and peer.status == "active":
        await note_federated(tx, peer)
    elif not was_quarantined:
        await journal.append(tx, RegistryQuarantined(peer.registry_name, peer.trust_domain))
    return peer.ledger_id
