"""Supply invariant: units issued and not destroyed, with those that came over the border, equal the circulating units.

Checkpoint of the folded events, so that no reading begins at the first event.

- A checkpoint holds every ledger event of a transaction before its position, and no other.
- Events of transactions that are open at a checkpoint are counted by each reading afresh, until they are settled.
- A checkpoint of another database cluster is void: transaction ids mean nothing there. The next one begins at zero.
"""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.telemetry.metrics import supply_delta
from hansa.foundation.values.money import Minor
from hansa.rooms import journal, ledger

from . import store
from .rules import NOTHING_COMPARED
from .store import Checkpoint


class SupplyVerdict(msgspec.Struct, frozen=True):
    """One reading of the invariant; amounts in minor units. `delta` is net supply minus circulating."""

    terms: journal.SupplyTerms
    circulating: Minor
    agent_count: int
    as_of_seq: int

    @property
    def net_supply(self) -> Minor:
        """Issued minus destroyed plus transit, according to the log."""
        return Minor(self.terms.issued - self.terms.destroyed + self.terms.transit)

    @property
    def delta(self) -> Minor:
        """Exactly zero, or units were made or lost."""
        return Minor(self.net_supply - self.circulating)

    @property
    def is_ok(self) -> bool:
        """Return whether log, balances and each transaction agree."""
        log_agrees = self.terms.circulating == self.circulating
        return self.delta == 0 and log_agrees and self.terms.unbalanced_transactions == 0


class LiveReading(msgspec.Struct, frozen=True):
    """The supply now, and how many ledger events were folded for it beyond the checkpoint."""

    supply: SupplyVerdict
    events_folded: int
    checked_at: datetime


async def audit_supply(tx: Tx) -> SupplyVerdict:
    """The invariant now; `tx` must be one snapshot (Database.read)."""
    return (await read_live(tx)).supply


async def read_live(tx: Tx) -> LiveReading:
    """Return the reading of `audit_supply` now: the totals of the checkpoint and of the log beyond it, compared with the balances."""
    horizon, found, (circulating, agent_count) = await read_together(
        tx, journal.horizon, store.read_checkpoint, ledger.circulating
    )
    stored = _usable(found, horizon)
    fold = await journal.fold_supply(tx, stored.folded_from, horizon)
    terms = stored.terms + fold.settled + fold.pending
    supply = SupplyVerdict(terms, circulating, agent_count, horizon.as_of_seq)
    supply_delta.set(supply.delta)
    return LiveReading(supply, fold.transactions, horizon.began_at)


async def weigh(tx: Tx, terms: journal.SupplyTerms, as_of_seq: int) -> SupplyVerdict:
    """The terms of the log against the balances."""
    circulating, agent_count = await ledger.circulating(tx)
    return SupplyVerdict(terms, circulating, agent_count, as_of_seq)


class Advance(msgspec.Struct, frozen=True):
    """Terms that this snapshot sees, and the movements of events that are not settled yet.

    `numbers` are those of all transactions in the log, where it was folded from its first event on.
    """

    terms: journal.SupplyTerms
    pending: list[journal.Move]
    checkpoint: Checkpoint
    numbers: journal.Numbers | None


def nothing_kept(horizon: journal.Horizon) -> Checkpoint:
    """Return the checkpoint at which a fold from zero begins."""
    return Checkpoint(horizon.cluster, journal.ORIGIN, journal.NOTHING_FOLDED, NOTHING_COMPARED)


async def current_checkpoint(tx: Tx, horizon: journal.Horizon) -> Checkpoint:
    """The checkpoint to go on from; an empty one where there is none for this cluster."""
    return _usable(await store.read_checkpoint(tx), horizon)


def _usable(stored: Checkpoint | None, horizon: journal.Horizon) -> Checkpoint:
    if (
        stored is None
        or stored.cluster != horizon.cluster
        or stored.folded_from.position > horizon.oldest_open
    ):
        return nothing_kept(horizon)
    return stored


async def advance(tx: Tx, horizon: journal.Horizon, *, from_zero: bool = False) -> Advance:
    """Fold the settled events into the checkpoint; `tx` must be one snapshot that may write."""
    assert await store.is_one_snapshot(tx), "log and balances would be read at different moments"
    stored = nothing_kept(horizon) if from_zero else await current_checkpoint(tx, horizon)
    numbers = None
    if stored.folded_from == journal.ORIGIN:
        await store.forget_folded(tx)
        whole = await journal.fold_whole(tx, horizon)
        fold, gathered, numbers = whole.supply, whole.moves, whole.numbers
    else:
        fold = await journal.fold_supply(tx, stored.folded_from, horizon)
        gathered = journal.fold_moves(tx, stored.folded_from, horizon)
    pending: list[journal.Move] = []
    async for moves in gathered:
        await store.fold_in(tx, [move for move in moves if move.settled])
        pending += [move for move in moves if move.pending]
    reached = replace(
        stored,
        folded_from=journal.FoldedFrom(
            horizon.oldest_open, max(stored.folded_from.relics_to_seq, fold.relics_to_seq)
        ),
        terms=stored.terms + fold.settled,
    )
    await store.keep_checkpoint(tx, reached)
    return Advance(reached.terms + fold.pending, pending, reached, numbers)


async def hold_off_audits(tx: Tx) -> int:
    """Let no cycle run before the transaction ends; returns the position up to which the log was audited, 0 without a checkpoint.

    A cycle that waits meanwhile reads the log afresh. Raises: asyncpg.LockNotAvailableError when a cycle is at work for long.
    """
    await store.wait_for_turn(tx)
    horizon, stored = await journal.horizon(tx), await store.touch_checkpoint(tx)
    if stored is None or stored.cluster != horizon.cluster:
        return 0
    return min(stored.folded_from.position, stored.compared.from_position)


async def advance_if_free(tx: Tx) -> None:
    """Run `advance` unless another process is running it."""
    if await store.take_turn(tx):
        await advance(tx, await journal.horizon(tx))
