"""Supply invariant: units issued and not destroyed, with those that came over the border, equal the circulating units."""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import supply_delta
from hansa.foundation.values.money import Minor
from hansa.rooms import journal, ledger

from .checkpoint import current_checkpoint


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
    horizon = await journal.horizon(tx)
    stored = await current_checkpoint(tx, horizon)
    fold = await journal.fold_supply(tx, stored.folded_from, horizon)
    supply = await weigh(tx, stored.terms + fold.settled + fold.pending, horizon.as_of_seq)
    supply_delta.set(supply.delta)
    return LiveReading(supply, fold.transactions, await clock.began_at(tx))


async def weigh(tx: Tx, terms: journal.SupplyTerms, as_of_seq: int) -> SupplyVerdict:
    """The terms of the log against the balances."""
    circulating, agent_count = await ledger.circulating(tx)
    return SupplyVerdict(terms, circulating, agent_count, as_of_seq)
