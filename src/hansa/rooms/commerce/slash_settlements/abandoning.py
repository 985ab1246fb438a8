"""The end of the settlements with a peer that is deleted."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import settlement as protocol
from . import store
from .inbox import compensation_refused
from .settlement import Direction, Status


async def end_with(tx: Tx, peer: str) -> None:
    """End every settlement with the peer of this SPIFFE id, whose pair is locked."""
    for stored in await store.lock_open(tx, peer):
        after = protocol.on_abandon(stored.settlement)
        await store.write(tx, stored.settlement_id, after)
        if after.direction is Direction.AWARDED and stored.settlement.status is Status.SLASHED:
            await journal.append(tx, compensation_refused(stored, after))
