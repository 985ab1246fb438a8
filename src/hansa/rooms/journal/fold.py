"""What the log alone says: supply recomputed from events, without a look at any balance."""

from dataclasses import dataclass

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.words.money import Minor

from . import store


@dataclass(frozen=True)
class SupplyTerms:
    """Supply according to the log, in minor units; `as_of_seq` is the newest event seen."""

    issued: Minor
    destroyed: Minor
    fees_collected: Minor
    circulating: Minor
    unbalanced_transactions: int
    as_of_seq: int


async def supply_terms(tx: Tx) -> SupplyTerms:
    """Fold every ledger event that this snapshot sees."""
    row = await store.fold_supply(tx)
    return SupplyTerms(
        issued=Minor(int(row["issued"])),
        destroyed=Minor(int(row["destroyed"])),
        fees_collected=Minor(int(row["fees_collected"])),
        circulating=Minor(int(row["circulating"])),
        unbalanced_transactions=row["unbalanced"],
        as_of_seq=row["as_of_seq"],
    )
