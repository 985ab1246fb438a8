"""Positions: the order of transactions, as every reader follows it who must not miss one.

- A position is a transaction id plus a shift, which is zero in the database cluster where the registry began.
- In another cluster, after a restore, transaction ids may begin anew; in a copy that was recovered to a moment they are assigned
  a second time. The shift then grows, so that new positions are above all positions that were ever assigned, in rows and in
  the cursors that clients keep: also above those of a copy that was served before and given up. They begin at a number that
  follows from the time, which no cluster reaches earlier.
- `plumbing_position()`, `plumbing_oldest_open()` and `plumbing_not_begun()` are the same numbers in SQL.
"""

import re

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

OLDEST_OPEN = "plumbing_oldest_open()"
"""SQL: every transaction before this position has ended."""

ERA = 1 << 40
"""More transactions than a cluster runs between two restores."""

POSITIONS_A_SECOND = 1 << 21
"""More transactions than a cluster runs in a second; 136 years of them are below 2^53, the largest exact number in JSON."""

EPOCH_SECONDS = 1_767_225_600
"""2026-01-01, in seconds since 1970; earlier than the first registry."""

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
        await _raise_shift(tx, max(newest, present), present)
    await tx.execute(_RECORD)


async def renew_positions(tx: Tx, newest: int) -> int:
    """Begin above all positions in a copy that was recovered to a moment, in the same cluster or another; returns the first one.

    `newest` is the highest position in any row. Nothing may be written meanwhile by others, nor read in order.
    """
    present: int = await tx.fetchval("SELECT plumbing_position()")
    await _raise_shift(tx, max(newest, present), present)
    await tx.execute(_RECORD)
    return await first_position(tx)


async def _raise_shift(tx: Tx, highest: int, present: int) -> None:
    first = int(await clock.seconds(tx) - EPOCH_SECONDS) * POSITIONS_A_SECOND
    if first <= highest:
        # The clock was changed, or the last restore was by an earlier version, which counted eras.
        first = (highest // ERA + 1) * ERA
    shift: int = await tx.fetchval("SELECT plumbing_position_shift()")
    await tx.execute(
        "CREATE OR REPLACE FUNCTION plumbing_position_shift() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE"
        f" RETURN {first - (present - shift)}::bigint"
    )


async def hold_off_starts(tx: Tx) -> None:
    """Let no process begin to serve before the transaction ends: each asks first whether positions are settled."""
    await tx.execute("LOCK TABLE plumbing_cluster IN ACCESS EXCLUSIVE MODE")


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
