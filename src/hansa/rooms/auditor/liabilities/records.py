"""The tree of liabilities as it is stored, and as one process keeps it in memory."""

from array import array
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.rooms import journal


class Holdings(msgspec.Struct, frozen=True):
    """Accounts with their balances, column by column: their numbers in the ledger, names as UTF-8, minor units."""

    ids: "array[int]"
    names: list[bytes]
    balances: "array[int]"


class PlacedHoldings(Holdings, frozen=True):
    """Holdings with the places of the leaves. See `Holdings`."""

    slots_a: "array[int]"
    slots_b: "array[int]"


class Origin(msgspec.Struct, frozen=True):
    """The reading that a tree belongs to."""

    as_of_seq: int
    cluster: int
    folded_from: journal.FoldedFrom


@dataclass(frozen=True)
class StoredTree:
    """The row of the tree; `blocks` is its lowest public level."""

    verdict_id: int
    origin: Origin
    secret: bytes = field(repr=False)
    placed_at: datetime
    is_due: bool
    accounts: int
    blocks: bytes


@dataclass
class CachedForest:
    """The levels below the blocks, of the verdict `verdict_id`; they are rebuilt when the database has another one."""

    verdict_id: int | None = None
    levels: list[bytearray] = field(default_factory=list, repr=False)


FOREST: Slot[CachedForest] = Slot("auditor: forest of liabilities", build=lambda _: CachedForest())


@dataclass(frozen=True)
class Commitment:
    """Tree that adds up to the circulating units, not stored yet. `placed_at` is None when accounts were placed anew."""

    origin: Origin
    secret: bytes = field(repr=False)
    placed_at: datetime | None
    accounts: int
    blocks: bytes
    root: bytes
