"""End of the transfers that are under way with a peer that is deleted: an administrator gives up the decisions of that peer."""

from uuid import uuid4

from hansa.foundation.plumbing.storage.database import Tx

from . import pair_chain, received_store, receiver, sender, sent_store, store
from .corridor import Corridor
from .writing import Changes, write_changes


async def end_with(tx: Tx, corridor: Corridor) -> None:
    """ABORT the reserved transfers, and give up the promised ones. Nothing crosses until the peer is there again and both chains agree."""
    pair = await store.lock_pair_alone(tx, corridor.key)
    changes = Changes(pair_chain.await_heads(pair, uuid4().hex), pair)
    for sent in await sent_store.lock_undecided(tx, corridor.key):
        changes.add(sender.on_abandon(sent))
    for received in await received_store.lock_promised(tx, corridor.key):
        changes.add(receiver.on_abandon(received))
    await write_changes(tx, corridor, changes)
