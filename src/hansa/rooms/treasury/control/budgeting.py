"""Kind `budget`: units that a team pays, or an agent draws, without approvals. Tighter ones apply at once; others need those of the highest tier."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount, parse_positive
from hansa.rooms import agents, organizations
from hansa.rooms.organizations import Acting, NewRequest, Organization, Outcome, Reading, Request, Role
from hansa.rooms.treasury import judging, store
from hansa.rooms.treasury.errors import AgentHasBudget, BudgetUnknown
from hansa.rooms.treasury.records import Budget, NewBudget


async def make_budget(tx: Tx, acting: Acting, key: str, new: NewBudget) -> Budget | Reading:
    """Make a budget, or ask for it where there are tiers.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, agents.AgentUnknown, AgentHasBudget, RequestExists,
    LimitReached.
    """
    organization = await organizations.lock_as_member(tx, key, acting.actor.id, Role.ADMIN)
    await _require_receiver(tx, organization, new)
    if await organizations.tiers_of(tx, organization.id):
        return await _ask(tx, acting, organization, None, new)
    return await _insert(tx, acting, organization, new)


async def change_budget(
    tx: Tx, acting: Acting, key: str, budget_id: UUID, changes: Mapping[str, Any]
) -> Budget | Reading:
    """Change a budget, which keeps what was spent, or ask for it where it would allow more.

    Raises: as `make_budget`, BudgetUnknown.
    """
    organization = await organizations.lock_as_member(tx, key, acting.actor.id, Role.ADMIN)
    budget = await store.find_budget(tx, organization.id, budget_id)
    if budget is None:
        raise BudgetUnknown
    new = _changed(budget.terms, changes)
    await _require_receiver(tx, organization, new)
    is_free = not await organizations.tiers_of(tx, organization.id)
    if not is_free and not judging.is_tighter_budget(new, budget.terms):
        return await _ask(tx, acting, organization, budget_id, new)
    return await _update(tx, acting, organization, budget_id, new)


async def delete_budget(tx: Tx, acting: Acting, key: str, budget_id: UUID) -> None:
    """Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, BudgetUnknown."""
    organization = await organizations.lock_as_member(tx, key, acting.actor.id, Role.ADMIN)
    if not await store.delete_budget(tx, organization.id, budget_id):
        raise BudgetUnknown
    await organizations.record_act(
        tx, organization.id, acting.actor, "treasury.budget.delete", f"budget:{budget_id}"
    )


async def _ask(
    tx: Tx, acting: Acting, organization: Organization, budget_id: UUID | None, new: NewBudget
) -> Reading:
    body = {"changes": None if budget_id is None else str(budget_id), **_as_stated(new)}
    return await organizations.ask(tx, acting, organization, BUDGET, NewRequest(body))


async def _execute(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    """Raises: TeamUnknown, agents.AgentUnknown, AgentHasBudget, BudgetUnknown."""
    new = _stated(request.body)
    await _require_receiver(tx, organization, new)
    changed = request.body["changes"]
    if changed is None:
        await _insert(tx, acting, organization, new)
    else:
        await _update(tx, acting, organization, UUID(changed), new)
    return organizations.NOTHING


async def _insert(tx: Tx, acting: Acting, organization: Organization, new: NewBudget) -> Budget:
    organizations.require_room(
        len(await store.budgets_of(tx, organization.id)), judging.BUDGETS_MAX, "budgets of an organization"
    )
    budget_id = await store.insert_budget(tx, organization.id, new)
    if budget_id is None:
        raise AgentHasBudget(field="agent_did")
    return await _written(tx, acting, organization, budget_id, "treasury.budget.create")


async def _update(
    tx: Tx, acting: Acting, organization: Organization, budget_id: UUID, new: NewBudget
) -> Budget:
    if new.agent_did is not None:
        of_agent = await store.budget_of_agent(tx, organization.id, new.agent_did)
        if of_agent is not None and of_agent.id != budget_id:
            raise AgentHasBudget(field="agent_did")
    if not await store.update_budget(tx, organization.id, budget_id, new):
        raise BudgetUnknown
    return await _written(tx, acting, organization, budget_id, "treasury.budget.change")


async def _written(tx: Tx, acting: Acting, organization: Organization, budget_id: UUID, act: str) -> Budget:
    budget = await store.find_budget(tx, organization.id, budget_id)
    assert budget is not None
    await organizations.record_act(
        tx, organization.id, acting.actor, act, f"budget:{budget_id}", **_as_stated(budget.terms)
    )
    return budget


async def _require_receiver(tx: Tx, organization: Organization, new: NewBudget) -> None:
    """Raises: TeamUnknown, agents.AgentUnknown."""
    if new.team_id is not None:
        await organizations.require_team(tx, organization.id, new.team_id)
    elif not await agents.is_of_organization(tx, new.agent_did or "", organization.id):
        raise agents.AgentUnknown("The organization has no agent with this DID.", field="agent_did")


def _changed(old: NewBudget, changes: Mapping[str, Any]) -> NewBudget:
    is_given_away = "team_id" in changes or "agent_did" in changes
    return NewBudget(
        changes.get("name", old.name),
        parse_positive(changes["amount"]) if "amount" in changes else old.amount,
        changes.get("period", old.period),
        changes.get("team_id") if is_given_away else old.team_id,
        changes.get("agent_did") if is_given_away else old.agent_did,
    )


def _as_stated(new: NewBudget) -> dict[str, Any]:
    return {
        "name": new.name,
        "amount": format_amount(new.amount),
        "period": new.period,
        "team_id": None if new.team_id is None else str(new.team_id),
        "agent_did": new.agent_did,
    }


def _stated(body: Mapping[str, Any]) -> NewBudget:
    team = body["team_id"]
    return NewBudget(
        body["name"],
        parse_positive(body["amount"]),
        body["period"],
        None if team is None else UUID(team),
        body["agent_did"],
    )


BUDGET = organizations.RequestKind("budget", organizations.demands_of_control, _execute, is_unique=True)
