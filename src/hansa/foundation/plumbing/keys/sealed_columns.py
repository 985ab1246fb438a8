"""Columns of sealed secrets, as their rooms declare them, and how they are sealed anew under another sealing key.

Secrets sealed for minutes or a day beside a request (kept answers, links, form keys) have no column here: they expire.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.storage.database import Tx


class SealedColumn(msgspec.Struct, frozen=True):
    """A column of a table; `purpose` gives the sealing purpose of a row's value, from its key in the column `key`."""

    table: str
    key: str
    column: str
    purpose: Callable[[Any], str]


class Resealed(msgspec.Struct, frozen=True):
    """How many values were sealed anew, and how many did not open and stay as they are."""

    resealed: int = 0
    unreadable: int = 0


async def seal_anew(tx: Tx, columns: Iterable[SealedColumn], former: Seal, new: Seal) -> Resealed:
    """Seal every value of these columns under the new key. No process of the registry runs meanwhile."""
    resealed = unreadable = 0
    for one in columns:
        await tx.execute(f"LOCK TABLE {one.table} IN SHARE ROW EXCLUSIVE MODE")
        rows = await tx.fetch(
            f"SELECT {one.key} AS key, {one.column} AS sealed FROM {one.table} WHERE {one.column} IS NOT NULL"  # noqa: S608
        )
        changed: list[tuple[Any, bytes]] = []
        for row in rows:
            purpose = one.purpose(row["key"])
            try:
                changed.append((row["key"], new.close(former.open(row["sealed"], purpose), purpose)))
            except BadSeal:
                unreadable += 1
        await tx.executemany(f"UPDATE {one.table} SET {one.column} = $2 WHERE {one.key} = $1", changed)  # noqa: S608
        resealed += len(changed)
    return Resealed(resealed, unreadable)
