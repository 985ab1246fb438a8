"""End the mirrors of a peer, in the transaction that removes the peer: its DIDs are unknown at once."""

from hansa.foundation.plumbing.jobs import withdraw
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue import relays
from hansa.rooms.catalogue.mirrors import lock_peer, remove_mirrors
from hansa.rooms.federation import HINT_KIND, PeerRecord

from . import store

CARDS_KIND, ACTS_KIND = "peer cards", "peer enforcement"
KINDS = (CARDS_KIND, ACTS_KIND, HINT_KIND)
"""The kinds of the jobs that each peer has, by its id."""

REMOVED_AT_ONCE = 10_000
"""Of one statement, so that none reaches its time limit."""


async def remove_mirrors_of(tx: Tx, peer: PeerRecord) -> None:
    """Delete every mirror of the peer, and how far it was read. Existing receipts and notes of acts stay."""
    await store.lock(tx, peer.id)
    await store.forget(tx, peer.id)
    for kind in KINDS:
        await withdraw(tx, kind, [str(peer.id)])
    if peer.ledger_id is None:
        return
    # Also of the registries that only this peer brought; another relay brings them anew.
    for ledger_id in sorted({peer.ledger_id, *await relays.store.homes_by(tx, peer.id)}):
        await lock_peer(tx, ledger_id)
        while await remove_mirrors(tx, ledger_id, REMOVED_AT_ONCE) == REMOVED_AT_ONCE:
            pass
        await relays.store.remove_items(tx, ledger_id)
        await relays.store.remove_home(tx, ledger_id)
    await relays.store.read_relays_anew(tx)
