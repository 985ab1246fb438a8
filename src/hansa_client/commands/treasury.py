"""`treasury`: payments, rules and budgets of an organization, and its requests."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, as_developer
from .options import AgentName, AsJson, Key, Limit, OrganizationName, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.organizations import OrganizationRequest
    from hansa_client.records.treasury import TreasuryBudget

app = typer.Typer(
    help="Pay from the treasury of an organization, and decide its requests. Its contracts and disputes: `contract` and `dispute` with --org.",
    no_args_is_help=True,
)

BudgetId = Annotated[str, typer.Argument(help="Id of the budget, as `treasury budgets` shows it.")]
RequestId = Annotated[str, typer.Argument(help="Id of the request, as `treasury requests` shows it.")]


@app.command("show", epilog=examples("hansa-client treasury show guild"))
@as_developer
def show_treasury(own: Caller, organization: OrganizationName) -> None:
    """Show the balances, the rules and the budgets of a treasury."""
    from .opening import show

    found = own.registry.treasury(organization).read()
    rules, held = found.rules, found.balances
    lines = [
        found.did,
        f"liquid {held.liquid:f}  staked {held.staked:f}  escrow {held.escrow:f}  spent today {found.spent_today:f}",
        *(f"over {one.over:f}  {one.approvals} approvals of {one.by}" for one in rules.tiers),
        *(f"at most {most:f} a day" for most in [rules.per_day_max] if most is not None),
        *map(_budget_line, found.budgets),
    ]
    show("\n".join(lines), found, as_json=own.as_json)


@app.command("transactions", epilog=examples("hansa-client treasury transactions guild"))
@as_developer
def list_transactions(
    own: Caller,
    organization: OrganizationName,
    *,
    limit: Limit = 50,
) -> None:
    """List the transactions of a treasury, newest first."""
    from .opening import show

    page = own.registry.treasury(organization).transactions(limit=limit)
    lines = [
        f"{one.timestamp.isoformat(timespec='seconds')}  {one.direction}  {one.amount:f}"
        for one in page.items
    ]
    show("\n".join(lines) or "No transactions.", page, as_json=own.as_json)


@app.command("rules", epilog=examples("hansa-client treasury rules guild rules.json"))
@as_developer
def replace_rules(
    own: Caller,
    organization: OrganizationName,
    file: Annotated[
        Path, typer.Argument(help="JSON file with all rules, in the form that `show --json` prints.")
    ],
) -> None:
    """Replace the rules of a treasury, as an admin; it becomes a request where others must agree."""
    from hansa_client.records.treasury import TreasuryRules

    from .opening import read_json_file, show

    replaced = own.registry.treasury(organization).replace_rules(read_json_file(file, TreasuryRules))
    if isinstance(replaced, TreasuryRules):
        show(f"{organization}  {len(replaced.tiers)} tiers of approvals", replaced, as_json=own.as_json)
    else:
        show_request(replaced, as_json=own.as_json)


@app.command("budgets", epilog=examples("hansa-client treasury budgets guild"))
@as_developer
def list_budgets(own: Caller, organization: OrganizationName) -> None:
    """List the budgets."""
    from .opening import show

    page = own.registry.treasury(organization).budgets()
    show("\n".join(map(_budget_line, page.items)) or "No budgets.", page, as_json=own.as_json)


@app.command(
    "create-budget",
    epilog=examples("hansa-client treasury create-budget guild Travel 100 --period month --team editors"),
)
@as_developer
def create_budget(
    own: Caller,
    organization: OrganizationName,
    name: Annotated[str, typer.Argument(help="Name of the budget.")],
    amount: Annotated[str, typer.Argument(help="Units, without fees.")],
    *,
    period: Annotated[Literal["month", "once"], typer.Option(help="Whether it begins anew in each month.")],
    team: Annotated[str | None, typer.Option(help="Slug of the team that pays from it.")] = None,
    agent: Annotated[str | None, typer.Option(help="DID of the agent that draws from it.")] = None,
    key: Key = None,
) -> None:
    """Make a budget of a team or of an agent, as an admin; it becomes a request where others must agree."""
    from .opening import amount_of

    teams = {one.slug: one.id for one in own.registry.organizations.teams(organization).items if team}
    if team is not None and team not in teams:
        raise ValueError(f"{organization} has no team {team}")
    made = own.registry.treasury(organization).create_budget(
        name, amount_of(amount), period, team_id=teams.get(team or ""), agent_did=agent, key=key
    )
    _show_budget(made, as_json=own.as_json)


@app.command(
    "change-budget",
    epilog=examples(
        "hansa-client treasury change-budget guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455 --amount 50"
    ),
)
@as_developer
def change_budget(
    own: Caller,
    organization: OrganizationName,
    budget: BudgetId,
    *,
    name: Annotated[str | None, typer.Option(help="The new name.")] = None,
    amount: Annotated[str | None, typer.Option(help="The new amount.")] = None,
    period: Annotated[Literal["month", "once"] | None, typer.Option(help="The new period.")] = None,
) -> None:
    """Change a budget, which keeps what was spent, as an admin; it becomes a request where others must agree."""
    from .opening import amount_of

    changed = own.registry.treasury(organization).change_budget(
        budget, name=name, amount=None if amount is None else amount_of(amount), period=period
    )
    _show_budget(changed, as_json=own.as_json)


@app.command(
    "delete-budget",
    epilog=examples("hansa-client treasury delete-budget guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"),
)
@as_developer
def delete_budget(
    own: Caller,
    organization: OrganizationName,
    budget: BudgetId,
) -> None:
    """End a budget, as an admin."""
    from .opening import show

    deleted = own.registry.treasury(organization).delete_budget(budget)
    show(f"{budget}  deleted", deleted, as_json=own.as_json)


@app.command(
    "pay", epilog=examples('hansa-client treasury pay guild did:hansa:registry.example:1 5 --note "July"')
)
def pay(
    organization: OrganizationName,
    receiver: Annotated[str, typer.Argument(help="DID of an agent of any registry.")],
    amount: Annotated[str, typer.Argument(help="Units that the receiver gets.")],
    *,
    message: Annotated[str | None, typer.Option(help="Text for the receiver.")] = None,
    budget: Annotated[str | None, typer.Option(help="Id of a budget of an own team.")] = None,
    note: Annotated[str | None, typer.Option(help="Text for the approvers.")] = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Ask for a payment; below every tier and within a budget it is made at once."""
    from hansa_client.calls import new_key

    from .opening import amount_of, as_developer, under_key

    with as_developer(profile) as (registry, _), under_key(once := key or new_key()):
        asked = registry.treasury(organization).pay(
            receiver, amount_of(amount), message=message, budget_id=budget, note=note, key=once
        )
        show_request(asked, as_json=as_json)


@app.command("draw", epilog=examples("hansa-client treasury draw 5"))
def draw(
    amount: Annotated[str, typer.Argument(help="Units that the agent gets.")],
    *,
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Draw units from the budget that the agent has at the treasury of its organization."""
    from .opening import acting, amount_of, show

    with acting(profile, agent, key) as (registry, once):
        drawn = registry.transfers.draw(amount_of(amount), key=once)
        show(f"{drawn.amount:f}  left {drawn.budget_left:f}", drawn, as_json=as_json)


@app.command("requests", epilog=examples("hansa-client treasury requests guild"))
@as_developer
def list_requests(
    own: Caller,
    organization: OrganizationName,
    *,
    limit: Limit = 50,
) -> None:
    """List the requests, newest first."""
    from .opening import show

    page = own.registry.treasury(organization).requests(limit=limit)
    show("\n".join(map(_line, page.items)) or "No requests.", page, as_json=own.as_json)


@app.command(
    "request",
    epilog=examples("hansa-client treasury request guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"),
)
@as_developer
def show_one_request(
    own: Caller,
    organization: OrganizationName,
    request: RequestId,
) -> None:
    """Show a request with its approvals."""
    show_request(own.registry.treasury(organization).request(request), as_json=own.as_json)


@app.command(
    "approve",
    epilog=examples("hansa-client treasury approve guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"),
)
@as_developer
def approve(
    own: Caller,
    organization: OrganizationName,
    request: RequestId,
    *,
    code: Annotated[
        bool, typer.Option("--code", help="Ask for a code of the two-factor app, not for the password.")
    ] = False,
    key: Key = None,
) -> None:
    """Approve a request of another one, by a login and the password; the last approval that it needs carries it out.

    The password is read from HANSA_CLIENT_PASSWORD or the terminal.
    """
    from .login import typed_password

    approved = own.registry.treasury(organization).approve(
        request,
        password=None if code else typed_password(),
        totp_code=str(typer.prompt("Two-factor code", err=True)) if code else None,
        key=key,
    )
    show_request(approved, as_json=own.as_json)


@app.command(
    "reject",
    epilog=examples(
        'hansa-client treasury reject guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455 --reason "Not now."'
    ),
)
@as_developer
def reject(
    own: Caller,
    organization: OrganizationName,
    request: RequestId,
    *,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    key: Key = None,
) -> None:
    """Reject a request, which ends it."""
    rejected = own.registry.treasury(organization).reject(request, reason=reason, key=key)
    show_request(rejected, as_json=own.as_json)


@app.command(
    "cancel",
    epilog=examples("hansa-client treasury cancel guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"),
)
@as_developer
def cancel(
    own: Caller,
    organization: OrganizationName,
    request: RequestId,
    *,
    key: Key = None,
) -> None:
    """Cancel a request, as its initiator or an owner."""
    show_request(own.registry.treasury(organization).cancel(request, key=key), as_json=own.as_json)


@app.command(
    "retry", epilog=examples("hansa-client treasury retry guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455")
)
@as_developer
def retry(
    own: Caller,
    organization: OrganizationName,
    request: RequestId,
    *,
    key: Key = None,
) -> None:
    """Carry out an approved request, for example after the treasury was funded."""
    show_request(own.registry.treasury(organization).retry(request, key=key), as_json=own.as_json)


def show_request(request: "OrganizationRequest", *, as_json: bool) -> None:
    """Print a request with its approvals, or as JSON."""
    from .opening import show

    lines = [
        _line(request),
        *(f"approved by developer:{one.developer_id}" for one in request.approvals),
        *filter(None, [request.reason]),
    ]
    show("\n".join(lines), request, as_json=as_json)


def _budget_line(budget: "TreasuryBudget") -> str:
    holder = budget.agent_did or f"team {budget.team_id}"
    return (
        f"{budget.budget_id}  {budget.name}  {budget.left:f} of {budget.amount:f}  {budget.period}  {holder}"
    )


def _show_budget(made: "TreasuryBudget | OrganizationRequest", *, as_json: bool) -> None:
    from hansa_client.records.treasury import TreasuryBudget

    from .opening import show

    if isinstance(made, TreasuryBudget):
        show(_budget_line(made), made, as_json=as_json)
    else:
        show_request(made, as_json=as_json)


def _line(request: "OrganizationRequest") -> str:
    waits = f"  needs {request.approvals_needed} approvals" if request.status == "PENDING" else ""
    return f"{request.request_id}  {request.kind}  {request.status}{waits}"
