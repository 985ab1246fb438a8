"""The SQL of treasuries. Every change holds the row of the organization; sums change by conditional UPDATEs."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from .records import Budget, Counted, Day, Limits, NewBudget, Outlay, Spent

_TODAY = "(now() AT TIME ZONE 'UTC')::date"
# A budget of a month begins anew in each.
_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC')::date"
_IS_OVER = f"(b.period = 'month' AND b.period_start < {_MONTH})"
_SPENT = f"CASE WHEN {_IS_OVER} THEN 0 ELSE b.spent END"

_PUT_LIMITS = """
INSERT INTO treasury_limits (organization_id, per_day_max, unapproved_per_day_max, allowlist) VALUES ($1, $2, $3, $4)
ON CONFLICT (organization_id) DO UPDATE SET per_day_max = excluded.per_day_max,
  unapproved_per_day_max = excluded.unapproved_per_day_max, allowlist = excluded.allowlist
"""

_BUDGET = f"""
SELECT b.id, b.organization_id, b.name, b.amount, b.period, b.team_id, b.agent_did, {_SPENT} AS spent, b.created_at
FROM treasury_budget b WHERE b.deleted_at IS NULL
"""  # noqa: S608

_INSERT_BUDGET = f"""
INSERT INTO treasury_budget (id, organization_id, name, amount, period, team_id, agent_did, period_start)
VALUES ($1, $2, $3, $4, $5, $6, $7, {_MONTH}) ON CONFLICT DO NOTHING RETURNING true
"""  # noqa: S608

_UPDATE_BUDGET = f"""
UPDATE treasury_budget b SET name = $3, amount = $4, period = $5, team_id = $6, agent_did = $7, spent = {_SPENT},
  period_number = b.period_number + {_IS_OVER}::int, period_start = {_MONTH}
WHERE b.organization_id = $1 AND b.id = $2 AND b.deleted_at IS NULL
"""  # noqa: S608

_SPEND_BUDGET = f"""
UPDATE treasury_budget b SET spent = {_SPENT} + $2, period_number = b.period_number + {_IS_OVER}::int,
  period_start = CASE WHEN b.period = 'month' THEN {_MONTH} ELSE b.period_start END
WHERE b.id = $1 AND b.organization_id = $3 AND b.deleted_at IS NULL AND {_SPENT} + $2 <= b.amount
RETURNING b.period_start, b.period_number, b.amount - b.spent AS rest
"""  # noqa: S608

_COUNT = f"""
WITH counted AS (
  INSERT INTO treasury_day AS d (organization_id, day, spent, unapproved) VALUES ($1, {_TODAY}, $2::bigint, $3::bigint)
  ON CONFLICT (organization_id, day) DO UPDATE SET spent = d.spent + excluded.spent, unapproved = d.unapproved + excluded.unapproved
  WHERE $4::bigint IS NULL OR d.spent + excluded.spent <= $4 RETURNING d.day)
INSERT INTO treasury_outlay (id, organization_id, day, amount, is_unapproved, budget_id, period_start, period_number)
SELECT $5, $1, day, $2::bigint, $6, $7, $8::date, $9 FROM counted RETURNING true
"""  # noqa: S608

_RETURN = """
UPDATE treasury_outlay SET returned_at = clock_timestamp() WHERE id = $1 AND returned_at IS NULL
RETURNING organization_id, day, amount, is_unapproved, budget_id, period_number
"""

_RETURN_DAY = """
UPDATE treasury_day SET spent = spent - $3, unapproved = unapproved - CASE WHEN $4 THEN $3 ELSE 0 END
WHERE organization_id = $1 AND day = $2
"""

# Nothing of an earlier period comes back to the present one.
_RETURN_BUDGET = """
UPDATE treasury_budget SET spent = greatest(spent - $2, 0) WHERE id = $1 AND period_number = coalesce($3, 0)
"""


async def limits_of(tx: Tx, organization_id: UUID) -> Limits:
    """The limits of an organization."""
    row = await tx.fetchrow(
        "SELECT per_day_max, unapproved_per_day_max, allowlist FROM treasury_limits WHERE organization_id = $1",
        organization_id,
    )
    if row is None:
        return Limits()
    allowed = None if row["allowlist"] is None else tuple(row["allowlist"])
    return Limits(row["per_day_max"], row["unapproved_per_day_max"], allowed)


async def put_limits(tx: Tx, organization_id: UUID, limits: Limits) -> None:
    """Write the limits of a locked organization."""
    allowed = None if limits.allowlist is None else list(limits.allowlist)
    await tx.execute(_PUT_LIMITS, organization_id, limits.per_day_max, limits.unapproved_per_day_max, allowed)


async def today(tx: Tx, organization_id: UUID) -> Day:
    """The sums of the present UTC day."""
    row = await tx.fetchrow(
        f"SELECT spent, unapproved FROM treasury_day WHERE organization_id = $1 AND day = {_TODAY}",  # noqa: S608
        organization_id,
    )
    return Day() if row is None else Day(Minor(int(row["spent"])), Minor(int(row["unapproved"])))


async def budgets_of(tx: Tx, organization_id: UUID) -> list[Budget]:
    """The budgets of an organization, the oldest first."""
    rows = await tx.fetch(
        f"{_BUDGET} AND b.organization_id = $1 ORDER BY b.created_at, b.id", organization_id
    )
    return [_budget(row) for row in rows]


async def find_budget(tx: Tx, organization_id: UUID, budget_id: UUID) -> Budget | None:
    """One budget of the organization."""
    row = await tx.fetchrow(f"{_BUDGET} AND b.organization_id = $1 AND b.id = $2", organization_id, budget_id)
    return None if row is None else _budget(row)


async def budget_of_agent(tx: Tx, organization_id: UUID, did: str) -> Budget | None:
    """The budget of an agent of the organization."""
    row = await tx.fetchrow(
        f"{_BUDGET} AND b.organization_id = $1 AND b.agent_did = $2", organization_id, did
    )
    return None if row is None else _budget(row)


async def insert_budget(tx: Tx, organization_id: UUID, new: NewBudget) -> UUID | None:
    """Write a budget of a locked organization; None where its agent has one."""
    budget_id = uuid4()
    made = await tx.fetchval(_INSERT_BUDGET, budget_id, organization_id, *_members(new))
    return budget_id if made else None


async def update_budget(tx: Tx, organization_id: UUID, budget_id: UUID, new: NewBudget) -> bool:
    """Write other terms of a budget, which keeps what was spent; False where there is none."""
    done = await tx.execute(_UPDATE_BUDGET, organization_id, budget_id, *_members(new))
    return bool(done == "UPDATE 1")


async def delete_budget(tx: Tx, organization_id: UUID, budget_id: UUID) -> bool:
    """End a budget; False where there is none."""
    done = await tx.execute(
        "UPDATE treasury_budget SET deleted_at = now() WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL",
        organization_id,
        budget_id,
    )
    return bool(done == "UPDATE 1")


async def delete_budgets_of_agent(tx: Tx, dids: Sequence[str]) -> None:
    """End the budgets of agents that have another owner."""
    await tx.execute(
        "UPDATE treasury_budget SET deleted_at = now() WHERE agent_did = ANY ($1) AND deleted_at IS NULL",
        list(dids),
    )


async def spend_of_budget(tx: Tx, organization_id: UUID, budget_id: UUID, amount: Minor) -> Spent | None:
    """Take the amount from a budget; None where it does not cover it."""
    row = await tx.fetchrow(_SPEND_BUDGET, budget_id, amount, organization_id)
    return None if row is None else Spent(**{**row, "rest": Minor(int(row["rest"]))})


async def count(
    tx: Tx, organization_id: UUID, outlay: Outlay, most: Minor | None, spent: Spent | None
) -> bool:
    """Add what a request or a draw counts to the sums of the present day, once; False where they would exceed the limit."""
    if most is not None and outlay.amount > most:
        return False
    unapproved = outlay.amount if outlay.is_unapproved else 0
    counted = await tx.fetchval(
        _COUNT,
        organization_id,
        outlay.amount,
        unapproved,
        most,
        outlay.id,
        outlay.is_unapproved,
        outlay.budget_id,
        spent and spent.period_start,
        spent and spent.period_number,
    )
    return bool(counted)


async def return_outlay(tx: Tx, outlay_id: UUID) -> None:
    """Take back what a request counted, once, where its units came back."""
    row = await tx.fetchrow(_RETURN, outlay_id)
    if row is None:
        return
    counted = Counted(**row)
    await tx.execute(_RETURN_DAY, counted.organization_id, counted.day, counted.amount, counted.is_unapproved)
    if counted.budget_id is not None:
        await tx.execute(_RETURN_BUDGET, counted.budget_id, counted.amount, counted.period_number)


def _members(new: NewBudget) -> tuple[object, ...]:
    return new.name, new.amount, new.period, new.team_id, new.agent_did


def _budget(row: asyncpg.Record) -> Budget:
    return Budget(**{**row, "spent": Minor(int(row["spent"]))})
