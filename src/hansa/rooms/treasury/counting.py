"""Count what leaves a treasury: the maximum of a day, the allowlist and a budget are judged when units leave, under the organization's lock."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import agents, organizations
from hansa.rooms.organizations import Demand, Organization, Request

from . import judging, store
from .errors import BudgetExceeded, BudgetUnknown, InArrears, TreasuryDayLimit, TreasuryPayeeNotAllowed
from .records import Limits, Outlay, Rules, Spent

ARREARS: Slot[Callable[[Tx, UUID], Awaitable[Minor]]] = Slot("treasury: arrears of an organization")
"""Units that an organization owes the holders of its points."""


async def require_no_arrears(tx: Tx, organization: Organization, runtime: Runtime) -> None:
    """Require that units may leave the treasury. Raises: InArrears."""
    arrears = await ARREARS.of(runtime)(tx, organization.id)
    if arrears:
        raise InArrears(context={"arrears": format_amount(arrears)})


async def rules_of(tx: Tx, organization_id: UUID) -> Rules:
    """The tiers and limits of an organization."""
    tiers = await organizations.tiers_of(tx, organization_id)
    return Rules(tuple(tiers), await store.limits_of(tx, organization_id))


async def demands_of_payments(
    tx: Tx, organization: Organization, requests: Sequence[Request]
) -> list[tuple[Demand, ...]]:
    """The approvals that each request to pay `amount` needs now; one within a budget needs none."""
    rules = await rules_of(tx, organization.id)
    if not rules.tiers:
        return [() for _ in requests]
    today = await store.today(tx, organization.id)
    return [
        ()
        if request.body.get("budget_id") is not None
        else judging.demands_of(rules, request.amount or ZERO, today.unapproved)
        for request in requests
    ]


async def count_request(
    tx: Tx, organization: Organization, request: Request, payee: str, runtime: Runtime
) -> None:
    """Count a request that is carried out now: a payment, a contract, or an award of its price.

    Raises: InArrears, TreasuryPayeeNotAllowed, TreasuryDayLimit, BudgetUnknown, BudgetExceeded.
    """
    assert request.amount is not None
    limits = await store.limits_of(tx, organization.id)
    await _require_allowed(tx, organization, limits, payee)
    named = request.body.get("budget_id")
    budget_id = None if named is None else UUID(named)
    is_unapproved = budget_id is None and not request.demands
    await count(
        tx, organization, Outlay(request.id, request.amount, is_unapproved, budget_id), limits, runtime
    )


async def count(
    tx: Tx, organization: Organization, outlay: Outlay, limits: Limits, runtime: Runtime
) -> Minor | None:
    """Count an amount in the sums of the day and of its budget, of which the rest is returned.

    Raises: InArrears, TreasuryDayLimit, BudgetUnknown, BudgetExceeded.
    """
    await require_no_arrears(tx, organization, runtime)
    of_budget = None
    if outlay.budget_id is not None:
        of_budget = await _spend_budget(tx, organization, outlay.budget_id, outlay.amount)
    if not await store.count(tx, organization.id, outlay, limits.per_day_max, of_budget):
        assert limits.per_day_max is not None
        spent = (await store.today(tx, organization.id)).spent
        left = max(0, limits.per_day_max - spent)
        raise TreasuryDayLimit(
            f"{format_amount(outlay.amount)} exceeds the {format_amount(left)} that are left of the daily limit (UTC) of the organization.",
            context={"left": format_amount(left)},
        )
    return None if of_budget is None else of_budget.rest


async def _spend_budget(tx: Tx, organization: Organization, budget_id: UUID, amount: Minor) -> Spent:
    spent = await store.spend_of_budget(tx, organization.id, budget_id, amount)
    if spent is not None:
        return spent
    budget = await store.find_budget(tx, organization.id, budget_id)
    if budget is None:
        raise BudgetUnknown
    left = format_amount(max(0, budget.amount - budget.spent))
    raise BudgetExceeded(
        f"{format_amount(amount)} exceeds the {left} that are left of the budget.", context={"left": left}
    )


async def _require_allowed(tx: Tx, organization: Organization, limits: Limits, payee: str) -> None:
    """Raises: TreasuryPayeeNotAllowed. Agents of the organization pass."""
    if limits.allowlist is None or payee in limits.allowlist:
        return
    if not await agents.is_of_organization(tx, payee, organization.id):
        raise TreasuryPayeeNotAllowed(context={"did": payee})
