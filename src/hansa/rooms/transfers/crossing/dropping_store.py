"""The SQL of statements that are dropped. Locks: the row of the pair first."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from . import store

# An entry of a transfer that enters has nothing to drop.
_ENTRIES = """
SELECT e.epoch, e.seq, e.transfer_id, coalesce((
    SELECT s.receipt IS NOT NULL AND s.state <> 'in_doubt' AND coalesce(s.credited_at, s.decided_at) < $2
    FROM transfers_sent s WHERE s.peer = $1 AND s.transfer_id = e.transfer_id AND e.entry <> 'receipt'
  ), true) AS is_done
FROM transfers_pair p JOIN transfers_entry e ON e.peer = p.peer AND (e.epoch, e.seq) > (p.dropped_epoch, p.dropped_seq)
WHERE p.peer = $1 AND e.recorded_at < $2 ORDER BY e.epoch, e.seq LIMIT $3
"""

_DROP_RECEIPTS = """
UPDATE transfers_sent SET receipt = '', prepared = CASE WHEN state = 'committed' THEN prepared END
WHERE peer = $1 AND transfer_id = ANY ($2) AND receipt <> '' AND next_at IS NULL
"""

_GO_ON = "UPDATE transfers_pair SET dropped_epoch = $2, dropped_seq = $3 WHERE peer = $1"


class Entry(msgspec.Struct, frozen=True):
    """A place of the own chain, and whether both sides are done with its transfer."""

    epoch: int
    seq: int
    transfer_id: UUID
    is_done: bool


async def entries(tx: Tx, peer: str, before: datetime, most: int) -> list[Entry]:
    """The next places of the own chain that were recorded before this moment, in order."""
    return [Entry(**row) for row in await tx.fetch(_ENTRIES, peer, before, most)]


async def drop(tx: Tx, peer: str, done: Sequence[Entry]) -> None:
    """Drop the stored messages that these transfers need no more, and go on after the last; a transfer that was opened again is left."""
    await store.lock_pair(tx, peer)
    await tx.execute(_DROP_RECEIPTS, peer, [one.transfer_id for one in done])
    await tx.execute(_GO_ON, peer, done[-1].epoch, done[-1].seq)
