"""Every SQL statement on the places of followers."""

from hansa.foundation.plumbing.storage.database import Tx

from .feed.store import Place

_BEGIN = "INSERT INTO journal_follower (name, xid, seq) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING"

_PLACE = "SELECT xid, seq FROM journal_follower WHERE name = $1"

_MOVE = """
UPDATE journal_follower SET xid = $2, seq = $3, moved_at = clock_timestamp()
WHERE name = $1 AND (xid, seq) = ($4, $5) AND (xid, seq) < ($2, $3)
"""


async def place(tx: Tx, name: str) -> Place:
    """The place of the follower of this name; before the first event where there was none."""
    await tx.execute(_BEGIN, name)
    row = await tx.fetchrow(_PLACE, name)
    assert row is not None
    return Place(row["xid"], row["seq"])


async def move(tx: Tx, name: str, *, before: Place, to: Place) -> bool:
    """Move a follower forward; False when it is not at `before`."""
    moved: str = await tx.execute(_MOVE, name, to.xid, to.seq, before.xid, before.seq)
    return moved == "UPDATE 1"
