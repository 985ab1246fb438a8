"""The SQL of budgets of purchases: what several purchases of one agent may spend together, without fees.

A token of a budget is counted as open in the commit that authorizes it; the commit that ends the token counts it as spent or gives it
back. A CHECK keeps `spent + open` within the budget. Locks: the token and the accounts of the ledger before the budget.
"""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

_COUNT_OPEN = """
UPDATE commerce_purchase_budget SET open = open + $2 WHERE id = $1 AND spent + open + $2 <= budget RETURNING true
"""
_COUNT_END = "UPDATE commerce_purchase_budget SET open = open - $2, spent = spent + $3 WHERE id = $1"
_RAISE = "UPDATE commerce_purchase_budget SET budget = $2 WHERE id = $1 AND budget <= $2 RETURNING true"


class PurchaseBudget(msgspec.Struct, frozen=True):
    """A budget, the amounts that were paid from it, and those of tokens that have not ended."""

    budget: Minor
    spent: Minor
    open: Minor

    def covers(self, amount: Minor) -> bool:
        """The budget has room for this amount now."""
        return self.spent + self.open + amount <= self.budget


async def open_budget(tx: Tx, budget_id: UUID, budget: Minor) -> None:
    """Write a budget of which nothing is spent."""
    await tx.execute("INSERT INTO commerce_purchase_budget (id, budget) VALUES ($1, $2)", budget_id, budget)


async def raise_budget(tx: Tx, budget_id: UUID, budget: Minor) -> bool:
    """Raise a budget to this amount; False where that would lower it."""
    return await tx.fetchval(_RAISE, budget_id, budget) is not None


async def find_budgets(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, PurchaseBudget]:
    """The budgets with these ids as they stand; takes no lock."""
    rows = await tx.fetch(
        "SELECT id, budget, spent, open FROM commerce_purchase_budget WHERE id = ANY ($1)", ids
    )
    return {row["id"]: PurchaseBudget(row["budget"], row["spent"], row["open"]) for row in rows}


async def count_open(tx: Tx, budget_id: UUID, amount: Minor) -> bool:
    """Count the amount of a new token as open; False where the budget does not cover it."""
    return await tx.fetchval(_COUNT_OPEN, budget_id, amount) is not None


async def count_end(tx: Tx, budget_id: UUID, amount: Minor, paid: Minor) -> None:
    """Count a token of this amount as ended, with what it paid."""
    await tx.execute(_COUNT_END, budget_id, amount, paid)
