"""`metrics`: figures of an agent in a time."""

from typing import TYPE_CHECKING, Annotated

import typer

from .options import USE, AgentName, AsJson, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.metrics import AgentMetrics, MetricsFigures

app = typer.Typer()


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client metrics", "hansa-client metrics did:web:example.org:agents:1 --range 7d"),
)
def metrics(
    did: Annotated[
        str | None,
        typer.Argument(help="DID of an agent of the developer; without it the agent in use."),
    ] = None,
    *,
    time_range: Annotated[str, typer.Option("--range", help="1h, 24h, 7d or 30d.")] = "24h",
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show payments, requests and health of an agent: the totals, then each point that has figures."""
    from .opening import as_agent, as_developer

    if did is None:
        with as_agent(profile, agent) as registry:
            print_metrics(registry.metrics.read(time_range=time_range), as_json=as_json)
    else:
        with as_developer(profile) as (registry, _):
            print_metrics(registry.metrics.read(did, time_range=time_range), as_json=as_json)


def print_metrics(found: "AgentMetrics", *, as_json: bool) -> None:
    """Print the totals and the points; the registry may be another's."""
    import msgspec

    from .printing import one_line

    if as_json:
        typer.echo(msgspec.json.encode(found))
        return
    begins = found.from_.isoformat(timespec="minutes")
    typer.echo(one_line(f"{found.agent_did} since {begins}, {found.time_range}"))
    for name, text in _texts(found.totals).items():
        typer.echo(one_line(f"  {name:<15}{text}"))
    for point in found.series:
        texts = {name: text for name, text in _texts(point).items() if text not in {"0", "-"}}
        if texts:
            line = "  ".join(f"{name}={text}" for name, text in texts.items())
            typer.echo(one_line(f"{point.at.isoformat(timespec='minutes')}  {line}"))


def _texts(figures: "MetricsFigures") -> dict[str, str]:
    members = {
        "paid_calls": figures.paid_calls,
        "failed": figures.failed,
        "success_rate": figures.success_rate,
        "earned": figures.earned,
        "spent": figures.spent,
        "fees": figures.fees,
        "settle_p50_ms": figures.settle_p50_ms,
        "settle_p95_ms": figures.settle_p95_ms,
        "api_requests": figures.api_requests,
        "api_errors": figures.api_errors,
        "uptime": figures.uptime,
        "log_errors": figures.log_errors,
    }
    return {name: "-" if value is None else str(value) for name, value in members.items()}
