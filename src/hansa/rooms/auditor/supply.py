"""The supply invariant: what was issued and not destroyed is what circulates."""

from dataclasses import dataclass

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import supply_delta
from hansa.foundation.words.money import Minor
from hansa.rooms import journal, ledger


@dataclass(frozen=True)
class SupplyVerdict:
    """One reading of the invariant; amounts in minor units. `delta` is net supply minus circulating."""

    terms: journal.SupplyTerms
    circulating: Minor
    agent_count: int

    @property
    def net_supply(self) -> Minor:
        """Issued minus destroyed, according to the log."""
        return Minor(self.terms.issued - self.terms.destroyed)

    @property
    def delta(self) -> Minor:
        """Exactly zero, or units were made or lost."""
        return Minor(self.net_supply - self.circulating)

    @property
    def is_ok(self) -> bool:
        """Whether log, balances and each transaction agree."""
        log_agrees = self.terms.circulating == self.circulating
        return self.delta == 0 and log_agrees and self.terms.unbalanced_transactions == 0


async def audit_supply(tx: Tx) -> SupplyVerdict:
    """Read both sides; `tx` must be one snapshot (Database.read)."""
    terms = await journal.supply_terms(tx)
    circulating, agent_count = await ledger.circulating(tx)
    verdict = SupplyVerdict(terms, circulating, agent_count)
    supply_delta.set(verdict.delta)
    return verdict
