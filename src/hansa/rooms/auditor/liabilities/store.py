"""Every SQL statement about the tree of liabilities. It is written by the audit cycle alone, which holds the turn."""

import sys
from array import array
from collections.abc import Collection, Sequence
from io import BytesIO
from itertools import repeat
from struct import Struct

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal, ledger

from .placement import NO_MEMBER, Placed
from .records import Commitment, Holdings, Origin, PlacedHoldings, StoredTree
from .sum_tree import BLOCK_HEIGHT, BLOCK_LEAVES

ROWS_AT_ONCE = 10_000
TREE_SECONDS = 900

# A balance that no sum can hold makes the tree differ from what circulates, so that there is no tree.
_OWED_TO = f"SELECT id, account, balance FROM ({ledger.OWED}) held WHERE account = ANY ($1)"  # noqa: S608

# Columns of a million rows as bytes: a row of them alone would cost as much here as its hashes. No text has a zero byte.
_COLUMNS = """
  string_agg(int8send(id), ''::bytea) AS ids, string_agg(convert_to(account, 'UTF8'), '\\x00'::bytea) AS names,
  string_agg(int8send(balance), ''::bytea) AS balances
"""

_OWED_AFTER = f"""
SELECT {_COLUMNS} FROM (SELECT * FROM ({ledger.OWED}) held WHERE id > $1 ORDER BY id LIMIT {ROWS_AT_ONCE}) part
"""  # noqa: S608

_PLACED = f"""
SELECT n.id, n.account, p.slot_a, p.slot_b, p.balance
FROM auditor_liability p JOIN ({ledger.ACCOUNTS}) n ON n.id = p.account_id
"""  # noqa: S608

# Both sides have the bound, so that neither is read from its beginning.
_PLACED_AFTER = f"""
SELECT {_COLUMNS}, string_agg(int4send(slot_a), ''::bytea) AS slots_a, string_agg(int4send(slot_b), ''::bytea) AS slots_b
FROM ({_PLACED} WHERE n.id > $1 AND p.account_id > $1 ORDER BY n.id LIMIT {ROWS_AT_ONCE}) part
"""  # noqa: S608

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
UPDATE auditor_liability p SET balance = n.balance FROM unnest($1::bigint[], $2::bigint[]) AS n (id, balance)
WHERE p.account_id = n.id
"""

_ADD_LATE = """
INSERT INTO auditor_liability (account_id, slot_a, slot_b, balance, is_late)
SELECT *, true FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bigint[])
"""

_IN_BLOCK = f"""
{_PLACED} WHERE p.account_id = ANY ($1::bigint[])
UNION {_PLACED} WHERE p.is_late AND p.slot_a BETWEEN $2 AND $3
UNION {_PLACED} WHERE p.is_late AND p.slot_b BETWEEN $2 AND $3
"""

# The rows of COPY in binary: so many columns, and each after its length.
_COPIED_COLUMNS = ("account_id", "slot_a", "slot_b", "balance")
_COPIED_ROW = Struct(">hiqiiiiiq").pack
_COPY_BEGIN = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"


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
    for table in ("auditor_liability_tree", "auditor_liability_block", "auditor_liability"):
        await tx.execute(f"DELETE FROM {table}", timeout=TREE_SECONDS)  # noqa: S608


async def count_owed(tx: Tx) -> int:
    """How many accounts hold something."""
    count: int = await tx.fetchval(
        f"SELECT count(*) FROM ({ledger.OWED}) held",  # noqa: S608
        timeout=TREE_SECONDS,
    )
    return count


async def owed(tx: Tx, after: int) -> Holdings | None:
    """The accounts that hold something and whose numbers follow `after`, some at a time; None at the end."""
    row = await tx.fetchrow(_OWED_AFTER, after, timeout=TREE_SECONDS)
    return Holdings(*_holdings(row)) if row and row["ids"] else None


async def owed_to(tx: Tx, accounts: Collection[str]) -> dict[int, tuple[str, int]]:
    """The names and balances of these accounts by number; those that hold nothing are left out."""
    rows = await tx.fetch(_OWED_TO, list(accounts))
    return {row["id"]: (row["account"], row["balance"]) for row in rows}


async def all_placed(tx: Tx, after: int) -> PlacedHoldings | None:
    """Return the columns of `owed` for every placed account."""
    row = await tx.fetchrow(_PLACED_AFTER, after, timeout=TREE_SECONDS)
    if row is None or not row["ids"]:
        return None
    return PlacedHoldings(*_holdings(row), _array("i", row["slots_a"]), _array("i", row["slots_b"]))


async def placed(tx: Tx, accounts: Collection[str]) -> list[Placed]:
    """Those of these accounts that have places."""
    rows = await tx.fetch(f"{_PLACED} WHERE n.account = ANY ($1)", list(accounts))
    return [Placed(*row) for row in rows]


async def in_block(tx: Tx, block: int) -> list[Placed]:
    """The accounts with a leaf in this block."""
    members = await tx.fetchval("SELECT members FROM auditor_liability_block WHERE block = $1", block)
    ids = {number for number in _array("q", members) if number != NO_MEMBER}
    begin = block << BLOCK_HEIGHT
    return [Placed(*row) for row in await tx.fetch(_IN_BLOCK, ids, begin, begin + BLOCK_LEAVES - 1)]


async def add(tx: Tx, accounts: PlacedHoldings) -> None:
    """Store the places that accounts got at a placement."""
    columns = (accounts.ids, accounts.slots_a, accounts.slots_b, accounts.balances)
    eight, four = repeat(8), repeat(4)
    ids, slots_a, slots_b, balances = columns
    rows = map(_COPIED_ROW, four, eight, ids, four, slots_a, four, slots_b, eight, balances)
    await tx.copy_to_table(
        "auditor_liability",
        source=BytesIO(b"".join((_COPY_BEGIN, *rows, _COPY_END))),
        columns=_COPIED_COLUMNS,
        format="binary",
        timeout=TREE_SECONDS,
    )


async def add_blocks(tx: Tx, blocks: "Sequence[array[int]]") -> None:
    """Store which accounts have the leaves of each block after a placement."""
    await tx.copy_records_to_table(
        "auditor_liability_block",
        records=[(block, _bytes(members)) for block, members in enumerate(blocks)],
        columns=("block", "members"),
        timeout=TREE_SECONDS,
    )


async def add_late(tx: Tx, accounts: Sequence[Placed]) -> None:
    """Store the places of accounts that came after the placement."""
    columns = list(zip(*accounts, strict=True)) or [()] * len(Placed._fields)
    ids, _, slots_a, slots_b, balances = columns
    await tx.execute(_ADD_LATE, ids, slots_a, slots_b, balances, timeout=TREE_SECONDS)


async def update(tx: Tx, accounts: Sequence[Placed]) -> None:
    """Store the present holdings of placed accounts."""
    changed = await tx.execute(
        _UPDATE, [one.id for one in accounts], [one.balance for one in accounts], timeout=TREE_SECONDS
    )
    assert changed == f"UPDATE {len(accounts)}", "only the audit cycle writes places"


def _holdings(row: asyncpg.Record) -> "tuple[array[int], list[bytes], array[int]]":
    return _array("q", row["ids"]), row["names"].split(b"\0"), _array("q", row["balances"])


def _array(kind: str, numbers: bytes) -> "array[int]":
    """Numbers of the database, big-endian."""
    found = array(kind, numbers)
    if sys.byteorder == "little":
        found.byteswap()
    return found


def _bytes(numbers: "array[int]") -> bytes:
    return _array(numbers.typecode, numbers.tobytes()).tobytes()
