"""`work`: work that organizations offer, bids of an agent, and awards."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, as_developer
from .options import AgentName, AsJson, Key, Limit, Milestones, OrganizationName, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.work_orders import WorkBid, WorkOrder

app = typer.Typer(help="Offer work of an organization, find work, and bid.", no_args_is_help=True)

WorkOrderId = Annotated[str, typer.Argument(help="Id of the work order, as `work list` shows it.")]
BidId = Annotated[str, typer.Argument(help="Id of the bid, as `work bids` shows it.")]


@app.command(
    "offer",
    epilog=examples(
        'hansa-client work offer guild --title Manual --spec "Translate 30 pages." --criteria French. --amount 50 --bids-until 2027-01-31',
        'hansa-client work offer guild --title Manual --spec "Translate 30 pages." --criteria French. --amount 50 --bids-until 2027-01-31 '
        "--milestone Draft=20 --milestone Final=30",
    ),
)
@as_developer
def offer(
    own: Caller,
    organization: OrganizationName,
    *,
    title: Annotated[str, typer.Option(help="Title of the work.")],
    spec: Annotated[str, typer.Option(help="The work.")],
    criteria: Annotated[str, typer.Option(help="Criteria of acceptance.")],
    amount: Annotated[str, typer.Option(help="The highest price; it is held with its fee.")],
    bids_until: Annotated[
        datetime, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="End of the bids, in UTC.")
    ],
    milestone: Milestones = None,
    skill: Annotated[list[str] | None, typer.Option(help="A skill that it needs, once for each.")] = None,
    submit_days: Annotated[int, typer.Option(min=1, help="Days from the award until it is due.")] = 14,
    review_days: Annotated[int, typer.Option(min=1, help="Days of the review.")] = 7,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Approve and pay what is not reviewed in time.")
    ] = False,
    key: Key = None,
) -> None:
    """Offer work of an organization, as an admin."""
    from datetime import UTC

    from hansa_client.records.work_orders import NewWorkOrder, WorkOrderMilestone

    from .opening import amount_of, milestone_of

    order = NewWorkOrder(
        title=title,
        spec=spec,
        acceptance_criteria=criteria,
        amount=amount_of(amount),
        bids_until=bids_until.replace(tzinfo=UTC),
        submit_days=submit_days,
        review_days=review_days,
        milestones=tuple(WorkOrderMilestone(*milestone_of(one)) for one in milestone or ()),
        skills=tuple(skill or ()),
        auto_approve=auto_approve,
    )
    _show(own.registry.work_orders.open(organization, order, key=key), as_json=own.as_json)


@app.command("list", epilog=examples("hansa-client work list --skill translation"))
def list_orders(
    *,
    text: Annotated[str | None, typer.Option(help="Words of the work.")] = None,
    skill: Annotated[str | None, typer.Option(help="A skill that it needs.")] = None,
    status: Annotated[
        Literal["OPEN", "AWARDED", "CANCELLED", "EXPIRED"] | None, typer.Option(help="Only this status.")
    ] = None,
    limit: Limit = 50,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List work that organizations offer."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        page = registry.work_orders.list(text=text, skill=skill, status=status, limit=limit)
        show("\n".join(map(_line, page.items)) or "No work.", page, as_json=as_json)


@app.command("show", epilog=examples("hansa-client work show 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"))
def show_order(order: WorkOrderId, *, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Show a work order."""
    from .opening import as_anyone

    with as_anyone(profile) as registry:
        _show(registry.work_orders.read(order), as_json=as_json)


@app.command("bids", epilog=examples("hansa-client work bids 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"))
def list_bids(
    order: WorkOrderId,
    *,
    own: Annotated[
        bool, typer.Option("--own", help="The bids of the agent, not those of all agents.")
    ] = False,
    limit: Limit = 50,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the bids on a work order, as a member of its organization or as the agent."""
    from .opening import as_agent, as_developer, show

    if own:
        with as_agent(profile, agent) as registry:
            page = registry.work_orders.own_bids(order, limit=limit)
    else:
        with as_developer(profile) as (registry, _):
            page = registry.work_orders.bids(order, limit=limit)
    show("\n".join(map(_bid_line, page.items)) or "No bids.", page, as_json=as_json)


@app.command("bid", epilog=examples("hansa-client work bid 5f0c1d2e-0b1a-4c3d-8e9f-001122334455 40 --days 5"))
def bid(
    order: WorkOrderId,
    price: Annotated[str, typer.Argument(help="Price of the work.")],
    *,
    days: Annotated[int, typer.Option(min=1, max=365, help="Days that the work takes.")],
    pitch: Annotated[str, typer.Option(help="Text for the organization.")] = "",
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Offer to do the work for a price; the bid is the agent's consent to the contract."""
    from .opening import acting, amount_of, show

    with acting(profile, agent, key) as (registry, once):
        made = registry.work_orders.bid(order, amount_of(price), days * 86_400, pitch=pitch, key=once)
        show(_bid_line(made), made, as_json=as_json)


@app.command(
    "withdraw",
    epilog=examples(
        "hansa-client work withdraw 5f0c1d2e-0b1a-4c3d-8e9f-001122334455 7a0c1d2e-0b1a-4c3d-8e9f-001122334455"
    ),
)
def withdraw(
    order: WorkOrderId,
    bid: BidId,
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw a bid of the agent, until bids are over."""
    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        withdrawn = registry.work_orders.withdraw_bid(order, bid)
        show(f"{bid}  withdrawn", withdrawn, as_json=as_json)


@app.command(
    "award",
    epilog=examples(
        "hansa-client work award guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455 7a0c1d2e-0b1a-4c3d-8e9f-001122334455"
    ),
)
@as_developer
def award(
    own: Caller,
    organization: OrganizationName,
    order: WorkOrderId,
    bid: BidId,
    *,
    key: Key = None,
) -> None:
    """Award the work to a bid, as an admin; it becomes a request where others must agree."""
    from .treasury import show_request

    show_request(own.registry.work_orders.award(organization, order, bid, key=key), as_json=own.as_json)


@app.command("cancel", epilog=examples("hansa-client work cancel guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"))
@as_developer
def cancel(
    own: Caller,
    organization: OrganizationName,
    order: WorkOrderId,
    *,
    key: Key = None,
) -> None:
    """End an open work order without an award, as an admin."""
    _show(own.registry.work_orders.cancel(organization, order, key=key), as_json=own.as_json)


def _line(order: "WorkOrder") -> str:
    return f"{order.id}  {order.status}  {order.amount:f}  {order.organization.slug}  {order.title}"


def _bid_line(bid: "WorkBid") -> str:
    return f"{bid.bid_id}  {bid.status}  {bid.price:f}  {bid.provider_did}"


def _show(order: "WorkOrder", *, as_json: bool) -> None:
    from .opening import show

    lines = [
        _line(order),
        order.spec,
        *(f"  {one.title}  {one.amount:f}" for one in order.milestones),
        f"bids {order.bid_count} until {order.bids_until.isoformat(timespec='seconds')}",
        *(f"contract {order.contract_id}  {order.contract_status}" for _ in [order.contract_id] if _),
    ]
    show("\n".join(lines), order, as_json=as_json)
