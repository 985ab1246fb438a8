"""The SQL of the units with which owners pay for jobs that count. Locks: rows of owners in the order of their ids."""

from collections.abc import Mapping, Sequence

from hansa.foundation.plumbing.storage.database import Tx

_OPEN = """
INSERT INTO reputation_funds (developer_id) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING
"""

_LOCK = """
SELECT developer_id, available FROM reputation_funds WHERE developer_id = ANY ($1) ORDER BY developer_id FOR NO KEY UPDATE
"""

_WRITE = """
UPDATE reputation_funds f SET available = n.available
FROM unnest($1::bigint[], $2::numeric[]) AS n (developer_id, available)
WHERE f.developer_id = n.developer_id AND f.available <> n.available
"""


async def lock_funds(tx: Tx, owners: Sequence[int]) -> dict[int, int]:
    """The units of these owners, locked until the transaction ends."""
    await tx.execute(_OPEN, owners)
    return {row["developer_id"]: int(row["available"]) for row in await tx.fetch(_LOCK, owners)}


async def write_funds(tx: Tx, available: Mapping[int, int]) -> None:
    """Write the units of locked owners."""
    await tx.execute(_WRITE, list(available), list(available.values()))


async def granted(tx: Tx) -> int:
    """The last grant of an administrator that is in the funds."""
    last: int = await tx.fetchval("SELECT granted FROM reputation_progress")
    return last


async def set_granted(tx: Tx, last: int) -> None:
    """The grants up to this one are in the funds."""
    await tx.execute("UPDATE reputation_progress SET granted = $1", last)
