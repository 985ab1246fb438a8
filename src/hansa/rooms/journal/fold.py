"""Readings of the log alone: supply and balances recomputed from events, without a look at any balance.

A fold may begin where an earlier one ended (`FoldedFrom`). It marks settled events, which no later fold may count again,
from those whose transactions are still among open ones.
"""

import secrets
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor

from . import fold_store, fold_whole_store
from .fold_store import RECORDED_TRANSACTIONS, Move
from .fold_whole_store import Numbers

__all__ = [
    "NOTHING_FOLDED",
    "ORIGIN",
    "RECORDED_TRANSACTIONS",
    "FoldedFrom",
    "Horizon",
    "Move",
    "Numbers",
    "SupplyFold",
    "SupplyTerms",
    "TypedSupply",
    "WholeFold",
    "fold_moves",
    "fold_supply",
    "fold_whole",
    "horizon",
    "typed_supply",
]


class Horizon(msgspec.Struct, frozen=True):
    """View of a snapshot of a transaction that began at `began_at`.

    Every transaction before `oldest_open` has ended, none from `not_begun` on is visible.
    `cluster` identifies the database cluster: transaction ids mean nothing in another one.
    """

    began_at: datetime
    oldest_open: int
    not_begun: int
    as_of_seq: int
    cluster: int


class FoldedFrom(msgspec.Struct, frozen=True):
    """Beginning of a fold: transaction `position`, without the events up to `relics_to_seq`."""

    position: int
    relics_to_seq: int


ORIGIN = FoldedFrom(0, 0)


class SupplyTerms(msgspec.Struct, frozen=True):
    """Supply according to the log, in minor units."""

    issued: Minor
    destroyed: Minor
    transit: Minor
    fees_collected: Minor
    circulating: Minor
    unbalanced_transactions: int

    def __add__(self, more: "SupplyTerms") -> "SupplyTerms":
        return SupplyTerms(
            Minor(self.issued + more.issued),
            Minor(self.destroyed + more.destroyed),
            Minor(self.transit + more.transit),
            Minor(self.fees_collected + more.fees_collected),
            Minor(self.circulating + more.circulating),
            self.unbalanced_transactions + more.unbalanced_transactions,
        )


NOTHING_FOLDED = SupplyTerms(ZERO, ZERO, ZERO, ZERO, ZERO, 0)


class SupplyFold(msgspec.Struct, frozen=True):
    """Settled events, the others, how many events in all, and the newest relic among them (0 without any)."""

    settled: SupplyTerms
    pending: SupplyTerms
    transactions: int
    relics_to_seq: int


async def horizon(tx: Tx) -> Horizon:
    """The horizon of this snapshot."""
    return Horizon(**await fold_store.read_horizon(tx))


async def fold_supply(tx: Tx, since: FoldedFrom, seen: Horizon) -> SupplyFold:
    """Fold the ledger events that this snapshot sees from `since` on."""
    return _supply(await fold_store.fold_supply(tx, _bounds(since, seen)))


class WholeFold(msgspec.Struct, frozen=True):
    """Sums of all ledger events; the numbers of their transactions are those of `RECORDED_TRANSACTIONS`."""

    supply: SupplyFold
    moves: AsyncIterator[list[Move]]
    numbers: Numbers


async def fold_whole(tx: Tx, seen: Horizon) -> WholeFold:
    """Return the results of `fold_supply` and `fold_moves` from `ORIGIN`, with fewer readings of the log. The transaction may write."""
    bounds, seed = _bounds(ORIGIN, seen), secrets.randbits(63)
    await fold_whole_store.add_up(tx, bounds, seed)
    return WholeFold(
        _supply(await fold_whole_store.read_supply(tx)),
        fold_whole_store.read_moves(tx, bounds),
        await fold_whole_store.read_numbers(tx, seed),
    )


def _supply(records: Sequence[asyncpg.Record]) -> SupplyFold:
    rows = {row["settled"]: row for row in records}
    return SupplyFold(
        settled=_terms(rows.get(True)),
        pending=_terms(rows.get(False)),
        transactions=sum(row["transactions"] for row in rows.values()),
        relics_to_seq=max((row["relics_to_seq"] for row in rows.values()), default=0),
    )


class TypedSupply(msgspec.Struct, frozen=True):
    """Sums of the typed events of issuing and destroying units, in minor units."""

    issued: Minor
    destroyed: Minor

    @property
    def net(self) -> Minor:
        """Issued minus destroyed."""
        return Minor(self.issued - self.destroyed)


async def typed_supply(tx: Tx) -> TypedSupply:
    """Return the sums of the typed events that this snapshot sees: those of issues and burns, and those of rulings."""
    row = await fold_store.sum_typed_supply(tx)
    return TypedSupply(Minor(int(row["issued"])), Minor(int(row["destroyed"])))


def fold_moves(tx: Tx, since: FoldedFrom, seen: Horizon) -> AsyncIterator[list[Move]]:
    """Yield the sums of `fold_supply` for each bucket of each account, some at a time."""
    return fold_store.fold_moves(tx, _bounds(since, seen))


def _bounds(since: FoldedFrom, seen: Horizon) -> fold_store.Bounds:
    return since.position, since.relics_to_seq, seen.oldest_open, seen.not_begun


def _terms(row: asyncpg.Record | None) -> SupplyTerms:
    if row is None:
        return NOTHING_FOLDED
    return SupplyTerms(
        issued=Minor(int(row["issued"])),
        destroyed=Minor(int(row["destroyed"])),
        transit=Minor(int(row["transit"])),
        fees_collected=Minor(int(row["fees_collected"])),
        circulating=Minor(int(row["circulating"])),
        unbalanced_transactions=row["unbalanced"],
    )
