"""Every SQL statement on the places of followers."""

from hansa.foundation.plumbing.storage.database import Tx

from .feed.store import Place

_BEGIN = "INSERT INTO journal_follower (name, xid, seq) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING"

_PLACE = "SELECT xid, seq FROM journal_follower WHERE name = $1"

_MOVE = """
UPDATE journal_follower SET xid = $2, seq = $3, moved_at = clock_timestamp()
WHERE name = $1 AND (xid, seq) = ($4, $5) AND (xid, seq) < ($2, $3)
"""

_BEHIND = "SELECT name FROM journal_follower WHERE (xid, seq) < ($1, $2) ORDER BY moved_at, name LIMIT 1"

_FORGET = "DELETE FROM journal_follower WHERE name = $1"


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


async def behind(tx: Tx, place: Place) -> str | None:
    """The name of a follower whose stream does not have the event at the place yet, the one that rests longest."""
    name: str | None = await tx.fetchval(_BEHIND, place.xid, place.seq)
    return name


async def forget(tx: Tx, name: str) -> bool:
    """Delete the place of a follower; False where there is none."""
    deleted: str = await tx.execute(_FORGET, name)
    return deleted == "DELETE 1"
