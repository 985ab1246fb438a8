"""Positions: the order of transactions, as every reader follows it who must not miss one.

- A position is a transaction id plus a shift, which is zero in the database cluster where the registry began.
- In another cluster, after a restore, transaction ids may begin anew. The shift then grows by a whole era, so that new
  positions are above all positions that were ever assigned, in rows and in the cursors that clients keep.
- `plumbing_position()`, `plumbing_oldest_open()` and `plumbing_not_begun()` are the same numbers in SQL.
"""

import re

from hansa.foundation.plumbing.storage.database import Tx

OLDEST_OPEN = "plumbing_oldest_open()"
"""SQL: every transaction before this position has ended."""

ERA = 1 << 40
"""More transactions than a cluster runs between two restores."""

_CLUSTER = "SELECT system_identifier FROM pg_control_system()"

_RECORDED = "SELECT system_identifier FROM plumbing_cluster"

_RECORD = f"""
INSERT INTO plumbing_cluster (system_identifier, first_position) VALUES (({_CLUSTER}), plumbing_position())
ON CONFLICT (is_only) DO UPDATE SET system_identifier = excluded.system_identifier,
  first_position = excluded.first_position, recorded_at = now()
"""  # noqa: S608

FIRST_POSITION = "SELECT coalesce((SELECT first_position FROM plumbing_cluster), 0)"
"""SQL: the query behind `first_position`."""

_NUMBER = re.compile(r"[0-9]+")


async def settle_positions(tx: Tx, newest: int) -> None:
    """Begin a new era where the database came from another cluster; `newest` is the highest position in any row.

    Nothing may be written meanwhile by others: the caller holds the lock of the journal.
    """
    recorded = await tx.fetchval(_RECORDED)
    if recorded is not None and recorded == await tx.fetchval(_CLUSTER):
        return
    present: int = await tx.fetchval("SELECT plumbing_position()")
    if recorded is not None or newest > present:
        shift: int = await tx.fetchval("SELECT plumbing_position_shift()")
        era = (max(newest, present) // ERA + 1) * ERA
        await tx.execute(
            "CREATE OR REPLACE FUNCTION plumbing_position_shift() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE"
            f" RETURN {era - (present - shift)}::bigint"
        )
    await tx.execute(_RECORD)


async def is_settled(tx: Tx) -> bool:
    """Return whether positions are those of this cluster."""
    settled: bool = await tx.fetchval(f"SELECT coalesce(({_RECORDED}) = ({_CLUSTER}), false)")
    return settled


async def first_position(tx: Tx) -> int:
    """The first position that was assigned in this cluster; snapshots that were written down before mean nothing now."""
    position: int = await tx.fetchval(FIRST_POSITION)
    return position


async def present_snapshot(tx: Tx) -> str:
    """The snapshot of this transaction in PostgreSQL's notation, in positions: xmin:xmax:in progress."""
    row = await tx.fetchrow(
        "SELECT pg_current_snapshot()::text AS snapshot, plumbing_position_shift() AS shift"
    )
    assert row is not None
    shift: int = row["shift"]
    return _NUMBER.sub(lambda number: str(int(number[0]) + shift), row["snapshot"])
