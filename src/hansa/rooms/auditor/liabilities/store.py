"""Every SQL statement about the tree of liabilities. It is written by the audit cycle alone, which holds the turn."""

from collections.abc import AsyncIterator, Collection, Sequence

import asyncpg

from hansa.foundation.plumbing.database import Tx
from hansa.rooms import journal, ledger

from .placement import Placed
from .records import Commitment, Origin, StoredTree

ROWS_AT_ONCE = 10_000
TREE_SECONDS = 900
_COLUMNS = "account, slot_a, slot_b, balance"

# A balance that no sum can hold makes the tree differ from what circulates, so that there is no tree.
_OWED_TO = f"SELECT account, balance FROM ({ledger.OWED}) held WHERE account = ANY ($1)"  # noqa: S608

_READ_TREE = """
SELECT *, placed_at < clock_timestamp() - interval '1 day' AS is_due FROM auditor_liability_tree
"""

_KEEP_TREE = """
INSERT INTO auditor_liability_tree
  (verdict_id, as_of_seq, cluster, position, relics_to_seq, secret, placed_at, accounts, blocks)
VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, clock_timestamp()), $8, $9)
ON CONFLICT (is_only) DO UPDATE SET verdict_id = excluded.verdict_id, as_of_seq = excluded.as_of_seq,
  cluster = excluded.cluster, position = excluded.position, relics_to_seq = excluded.relics_to_seq,
  secret = excluded.secret, placed_at = excluded.placed_at, accounts = excluded.accounts, blocks = excluded.blocks
"""

_UPDATE = """
UPDATE auditor_liability p SET balance = n.balance FROM unnest($1::text[], $2::bigint[]) AS n (account, balance)
WHERE p.account = n.account
"""

_IN_BLOCK = f"""
SELECT {_COLUMNS} FROM auditor_liability WHERE slot_a BETWEEN $1 AND $2
UNION SELECT {_COLUMNS} FROM auditor_liability WHERE slot_b BETWEEN $1 AND $2
"""  # noqa: S608


async def read_tree(tx: Tx) -> StoredTree | None:
    """The tree of the newest verdict that has one."""
    row = await tx.fetchrow(_READ_TREE)
    if row is None:
        return None
    origin = Origin(
        row["as_of_seq"], row["cluster"], journal.FoldedFrom(row["position"], row["relics_to_seq"])
    )
    names = ("verdict_id", "secret", "placed_at", "is_due", "accounts", "blocks")
    return StoredTree(origin=origin, **{name: row[name] for name in names})


async def keep_tree(tx: Tx, commitment: Commitment, verdict_id: int) -> None:
    """Store the tree of a verdict."""
    origin = commitment.origin
    await tx.execute(
        _KEEP_TREE,
        verdict_id,
        origin.as_of_seq,
        origin.cluster,
        origin.folded_from.position,
        origin.folded_from.relics_to_seq,
        commitment.secret,
        commitment.placed_at,
        commitment.accounts,
        commitment.blocks,
    )


async def forget_tree(tx: Tx) -> None:
    """Delete the tree and every place."""
    await tx.execute("DELETE FROM auditor_liability_tree")
    await tx.execute("DELETE FROM auditor_liability", timeout=TREE_SECONDS)


async def count_owed(tx: Tx) -> int:
    """How many accounts hold something."""
    count: int = await tx.fetchval(
        f"SELECT count(*) FROM ({ledger.OWED}) held",  # noqa: S608
        timeout=TREE_SECONDS,
    )
    return count


async def owed(tx: Tx) -> AsyncIterator[list[tuple[str, int]]]:
    """Every account that holds something with what it holds, some at a time."""
    async for rows in _in_batches(tx, ledger.OWED):
        yield [(row["account"], row["balance"]) for row in rows]


async def owed_to(tx: Tx, accounts: Collection[str]) -> dict[str, int]:
    """What these accounts hold; those that hold nothing are left out."""
    rows = await tx.fetch(_OWED_TO, list(accounts))
    return {row["account"]: row["balance"] for row in rows}


async def all_placed(tx: Tx) -> AsyncIterator[list[Placed]]:
    """Every placed account, some at a time."""
    async for rows in _in_batches(tx, f"SELECT {_COLUMNS} FROM auditor_liability"):  # noqa: S608
        yield [Placed(*row) for row in rows]


async def placed(tx: Tx, accounts: Collection[str]) -> list[Placed]:
    """Those of these accounts that have places."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM auditor_liability WHERE account = ANY ($1)",  # noqa: S608
        list(accounts),
    )
    return [Placed(**row) for row in rows]


async def in_block(tx: Tx, begin: int, end: int) -> list[Placed]:
    """The accounts with a leaf in [begin, end)."""
    return [Placed(**row) for row in await tx.fetch(_IN_BLOCK, begin, end - 1)]


async def add(tx: Tx, accounts: Sequence[Placed]) -> None:
    """Store the places of accounts."""
    await tx.copy_records_to_table(
        "auditor_liability",
        records=accounts,
        columns=_COLUMNS.split(", "),
        timeout=TREE_SECONDS,
    )


async def update(tx: Tx, accounts: Sequence[Placed]) -> None:
    """Store what placed accounts hold now."""
    changed = await tx.execute(
        _UPDATE, [one.account for one in accounts], [one.balance for one in accounts], timeout=TREE_SECONDS
    )
    assert changed == f"UPDATE {len(accounts)}", "only the audit cycle writes places"


async def _in_batches(tx: Tx, query: str) -> AsyncIterator[list[asyncpg.Record]]:
    cursor = await tx.cursor(query, timeout=TREE_SECONDS)
    while rows := await cursor.fetch(ROWS_AT_ONCE, timeout=TREE_SECONDS):
        yield rows
