"""Treasury of an organization: its balance and its course, the budgets with what is left, and payments out of it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.doors.console.account.home_page import DAYS_OF_LINE, portfolio_plot
from hansa.doors.console.api_acts import act_as_person
from hansa.doors.console.own_agents.picker import with_dids
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values.money import Minor
from hansa.foundation.values.visible_text import apart
from hansa.rooms import agents, ledger, organizations, treasury
from hansa.rooms.organizations import Organization, Role, Team

from .pages import LIST, Key, held, organization_page, organization_router, outcome
from .rules_in_words import approvals_in_words, demands_of_payment
from .treasury_tabs import treasury_tabs

router = organization_router()

NO_AMOUNT = "Enter an amount greater than 0, such as 1.5."
PERIODS = [("month", "Each month (UTC)"), ("once", "Once")]
FIELD_OF_CODE = {
    "ACCOUNT_UNKNOWN": "receiver_did",
    "SELF_TRANSFER": "receiver_did",
    "SYSTEM_ACCOUNT": "receiver_did",
    "TREASURY_PAYEE_NOT_ALLOWED": "receiver_did",
    "INSUFFICIENT_BALANCE": "amount",
    "TREASURY_OVER_PER_DAY_MAX": "amount",
    "BUDGET_EXCEEDED": "amount",
}


class Read(msgspec.Struct, frozen=True):
    """Content of the page."""

    organization: Organization
    portfolio: ledger.Portfolio
    budgets: Sequence[treasury.Budget]
    teams: Sequence[Team]


class ShownBudget(msgspec.Struct, frozen=True):
    """A budget with the name of its team, and whether the person pays from it."""

    budget: treasury.Budget
    team: str | None
    is_own: bool

    @property
    def left(self) -> Minor:
        """The rest of the current period."""
        return Minor(max(0, self.budget.amount - self.budget.spent))


@router.get("/treasury")
async def show_treasury(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The balance of the treasury with its course, and the budgets."""
    return await _page(request, person, db, organization_id)


@router.get("/treasury/budgets/new")
async def show_new_budget(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The form of a new budget."""
    return await _budget_page(request, person, db, organization_id)


@router.post("/treasury/budgets")
async def make_budget(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Make the budget of a team or an agent, or ask for it."""
    form, base = sender.form, f"{LIST}/{organization_id}"
    team, _, agent = form.value("holder").partition(" ")
    body = {
        "name": form.value("name").strip(),
        "amount": with_decimal_point(form.value("amount").strip()),
        "period": form.value("period") or "month",
        **({"agent_did": agent} if team == "agent" else {"team_id": agent}),
    }
    answer = await act_as_person(
        request, sender, "POST", f"/organizations/{organization_id}/treasury/budgets", body
    )
    return await outcome(
        sender,
        answer,
        f"{base}/treasury?done=budget",
        lambda refused, status: _budget_page(
            request, sender.person, db, organization_id, refused, status=status
        ),
        base=base,
        team_id="holder",
        agent_did="holder",
    )


@router.post("/treasury/budgets/{budget_id}/change")
async def change_budget(
    organization_id: Key, budget_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Change the amount of a budget, which keeps what was spent, or ask for it."""
    base = f"{LIST}/{organization_id}"
    body = {"amount": with_decimal_point(sender.form.value("new_amount").strip())}
    path = f"/organizations/{organization_id}/treasury/budgets/{budget_id}"
    answer = await act_as_person(request, sender, "PATCH", path, body)
    return await outcome(
        sender,
        answer,
        f"{base}/treasury?done=changed",
        lambda refused, status: _page(request, sender.person, db, organization_id, refused, status=status),
        base=base,
        amount="new_amount",
    )


@router.post("/treasury/budgets/{budget_id}/delete")
async def delete_budget(
    organization_id: Key, budget_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Delete a budget; one that is gone is no trouble."""
    path = f"/organizations/{organization_id}/treasury/budgets/{budget_id}"
    answer = await act_as_person(request, sender, "DELETE", path)
    return await outcome(
        sender,
        answer,
        f"{LIST}/{organization_id}/treasury?done=ended",
        lambda refused, status: _page(request, sender.person, db, organization_id, refused, status=status),
        done_already="BUDGET_UNKNOWN",
    )


@router.get("/treasury/pay")
async def show_payment(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The form of a payment."""
    return await _payment_page(request, person, db, organization_id)


@router.post("/treasury/pay/check")
async def check_payment(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """State what the payment needs; nothing is paid or asked."""
    sender = await with_dids(db, sender, "receiver_did")
    return await _payment_page(request, sender.person, db, organization_id, sender.form, is_checked=True)


@router.post("/treasury/pay")
async def pay(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Pay at once below every tier or within a budget, else ask the approvers."""
    form = sender.form
    path, base = f"/organizations/{organization_id}/treasury/requests", f"{LIST}/{organization_id}"
    answer = await act_as_person(request, sender, "POST", path, {"kind": "payment", **_payment(form)})
    if answer.is_refused:
        refused = answer.on(form)
        if field := FIELD_OF_CODE.get(answer.code):
            refused = SentForm(form.fields, {field: refused.message or ""}, refused.message)
        return await _payment_page(request, sender.person, db, organization_id, refused, status=answer.status)
    done = "asked" if answer.document["status"] == "PENDING" else "paid"
    return see_other(f"{base}/treasury/requests/{answer.document['request_id']}?done={done}")


def _payment(form: SentForm) -> dict[str, Any]:
    optional = {name: form.value(name).strip() or None for name in ("message", "budget_id", "note")}
    return {
        "receiver_did": form.value("receiver_did").strip(),
        "amount": with_decimal_point(form.value("amount").strip()),
        **{name: value for name, value in optional.items() if value is not None},
    }


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> Read:
        organization = await held(tx, person, key)
        dids = [organization.treasury_did]
        return Read(
            organization,
            await ledger.read_portfolio(tx, dids, days=DAYS_OF_LINE, newest=1),
            await treasury.budgets_in(tx, organization.id),
            await organizations.teams_in(tx, organization.id),
        )

    read = await db.read(reading)
    organization, currency = read.organization, runtime_of(request).settings.settlement_currency
    return organization_page(
        request,
        "treasury.html",
        person,
        organization,
        form,
        status=status,
        section="/treasury",
        tabs=treasury_tabs(organization, "/treasury"),
        balance=read.portfolio.balances.get(organization.treasury_did),
        plot=portfolio_plot(read.portfolio, currency),
        budgets=[_shown(one, read.teams, person) for one in read.budgets],
        currency=currency,
    )


def _shown(budget: treasury.Budget, teams: Sequence[Team], person: SignedIn) -> ShownBudget:
    team = next((one for one in teams if one.id == budget.team_id), None)
    return ShownBudget(
        budget, team.slug if team else None, is_own=team is not None and person.developer.id in team.members
    )


async def _budget_page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[Organization, list[tuple[str, str]]]:
        organization = await held(tx, person, key, Role.ADMIN)
        return organization, await _holders(tx, organization.id)

    organization, holders = await db.read(reading)
    return organization_page(
        request,
        "budget.html",
        person,
        organization,
        form,
        status=status,
        section="/treasury",
        tabs=treasury_tabs(organization, "/treasury"),
        holders=holders,
        periods=PERIODS,
        currency=runtime_of(request).settings.settlement_currency,
    )


async def _holders(tx: Tx, organization_id: UUID) -> list[tuple[str, str]]:
    """Teams and agents that may get a budget; an agent has one at most."""
    budgets, teams, owned = await read_together(
        tx,
        lambda tx: treasury.budgets_in(tx, organization_id),
        lambda tx: organizations.teams_in(tx, organization_id),
        lambda tx: agents.of_organization(tx, organization_id),
    )
    with_budget = {one.agent_did for one in budgets}
    return [
        *((f"team {team.id}", f"Team {team.slug}") for team in teams),
        *(
            (f"agent {agent.did}", f"Agent {apart(agent.name)}")
            for agent in owned
            if agent.status == "active" and agent.did not in with_budget
        ),
    ]


async def _payment_page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    is_checked: bool = False,
    status: int = 200,
) -> HTMLResponse:
    async def reading(
        tx: Tx,
    ) -> tuple[Organization, list[treasury.Budget], list[Team], treasury.Rules, treasury.Day]:
        organization = await held(tx, person, key, Role.MEMBER)
        return (
            organization,
            await treasury.budgets_in(tx, organization.id),
            await organizations.teams_in(tx, organization.id),
            await treasury.rules_of(tx, organization.id) if is_checked else treasury.Rules(),
            await treasury.today(tx, organization.id) if is_checked else treasury.Day(),
        )

    organization, budgets, teams, rules, today = await db.read(reading)
    form = form or SentForm()
    demands = demands_of_payment(rules, today, form.value("amount"))
    if is_checked and demands is None:
        form, status = SentForm(form.fields, {"amount": NO_AMOUNT}, NO_AMOUNT), 422
    own = [shown for one in budgets if (shown := _shown(one, teams, person)).is_own]
    from_budget = next((one for one in own if str(one.budget.id) == form.value("budget_id")), None)
    return organization_page(
        request,
        "pay-confirm.html" if is_checked and demands is not None else "pay.html",
        person,
        organization,
        form,
        status=status,
        section="/treasury",
        tabs=treasury_tabs(organization, "/treasury/pay"),
        budgets=own,
        from_budget=from_budget,
        needs=approvals_in_words(demands or (), teams),
        is_at_once=not demands,
        currency=runtime_of(request).settings.settlement_currency,
    )
