"""Metrics of an own agent in figures and plots; each plot has the table of its values."""

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson
from hansa.doors.console.plots import Plot
from hansa.doors.console.rendering import grouped
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import agents, operations

from .pages import READS, MyDid, agent_page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

RANGES = {"1h": "Last hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}
SLOWEST = 0.95
COUNTS: dict[str, Callable[[operations.Point], int]] = {
    "Paid calls": lambda point: point.figures.paid_calls,
    "Failed payments": lambda point: point.figures.failed,
    "Requests": lambda point: point.figures.api_requests,
    "Refused and failed requests": lambda point: point.figures.api_errors,
    "Errors in the log": lambda point: point.figures.log_errors,
    "Settlement of 95 of 100 payments, milliseconds": lambda point: (
        operations.quantile(point.settle_times, SLOWEST) or 0
    ),
}
AMOUNTS: dict[str, Callable[[operations.Point], int]] = {
    "Earned": lambda point: point.figures.earned,
    "Spent": lambda point: point.figures.spent,
}


@router.get("/account/agents/{did}/metrics", dependencies=READS)
async def show_metrics(
    did: MyDid,
    person: SignedInPerson,
    request: Request,
    db: Db,
    settings: Config,
    *,
    time_range: Annotated[operations.RangeName, Query(alias="range")] = "24h",
) -> HTMLResponse:
    """The figures of a range, and a plot of each that has any."""
    # A reader without the right at the agent gets its refusal.
    agent, metrics = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: operations.metrics_of(tx, did, time_range),
        )
    )
    currency = settings.settlement_currency
    return agent_page(
        request,
        "own_agents/metrics.html",
        person,
        agent,
        metrics=metrics,
        totals=operations.MetricsFiguresOut.members_of(metrics.total),
        ranges=RANGES,
        currency=currency,
        plots=_plots(metrics.points, currency),
    )


def _plots(points: Sequence[operations.Point], currency: str) -> list[Plot]:
    found = []
    labels = [f"{point.at:%Y-%m-%d %H:%M}" for point in points]
    for title, value_of in AMOUNTS.items():
        values = [value_of(point) for point in points]
        shown = [f"{grouped(format_amount(Minor(value)))} {currency}" for value in values]
        found.append(Plot(title, list(zip(labels, values, strict=True)), shown))
    for title, value_of in COUNTS.items():
        values = [value_of(point) for point in points]
        shown = [grouped(str(value)) for value in values]
        found.append(Plot(title, list(zip(labels, values, strict=True)), shown, per_unit=1))
    return [plot for plot in found if any(value for _, value in plot.points)]
