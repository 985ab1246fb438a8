"""Balance of an account now: its amount in the newest baseline + every ledger event after it."""

from collections.abc import AsyncIterator

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.journal.ledger_readings import Held

from . import store


async def projected_balances(tx: Tx, *, from_zero: bool = False) -> AsyncIterator[Held]:
    """Yield the balance of every bucket by the log, ordered by account and bucket; empty ones are left out."""
    baseline = None if from_zero else await store.newest_baseline(tx)
    async for held in store.fold_balances(tx, baseline or store.NOTHING_YET):
        yield held
