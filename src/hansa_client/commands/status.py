"""`registry`: the status, activity and showcase of the registry, and incidents of an administrator."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, as_developer
from .options import AsJson, Key, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.status import Incident

app = typer.Typer(
    help="Read the status, activity and showcase of the registry, and report incidents.", no_args_is_help=True
)

Text = Annotated[str, typer.Option("--text", help="Text, which is public.")]


@app.command("show", epilog=examples("hansa-client registry show"))
def show_status(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Show the state of the registry and of its components, and open incidents."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.status.read()
        lines = [
            f"{found.state}  {found.version}",
            *(f"{one.name}  {one.state}" for one in found.components),
            *(_line(one) for one in found.incidents if one.state != "resolved"),
        ]
        show("\n".join(lines), found, as_json=as_json)


@app.command("activity", epilog=examples("hansa-client registry activity --kind AGENT_ONBOARDED"))
def list_activity(
    *,
    kind: Annotated[str | None, typer.Option(help="Facts of this kind.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=50, help="Number of facts.")] = 10,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the newest facts of the registry."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.status.activity(kind, limit=limit)
        lines = [f"{one.created_at.isoformat(timespec='seconds')}  {one.description}" for one in found.items]
        show("\n".join(lines) or "No activity.", found, as_json=as_json)


@app.command("showcase", epilog=examples("hansa-client registry showcase"))
def show_showcase(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List agents that anybody may call."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.status.showcase()
        lines = [f"{one.did}  {one.name}  {one.reason}  {one.note}".rstrip() for one in found.items]
        show("\n".join(lines) or "No agents.", found, as_json=as_json)


@app.command(
    "open-incident",
    epilog=examples(
        'hansa-client registry open-incident "Payments settle late" --text "They wait." --component ledger'
    ),
)
@as_developer
def open_incident(
    own: Caller,
    title: Annotated[str, typer.Argument(help="Title.")],
    *,
    text: Text,
    kind: Annotated[Literal["incident", "maintenance"], typer.Option(help="Kind.")] = "incident",
    component: Annotated[list[str] | None, typer.Option(help="Component, once for each.")] = None,
    key: Key = None,
) -> None:
    """Open an incident or announce a maintenance, as an administrator of the platform."""
    made = own.registry.status.open_incident(title, text, kind=kind, components=component or (), key=key)
    _show(made, as_json=own.as_json)


@app.command(
    "update-incident",
    epilog=examples('hansa-client registry update-incident ID resolved --text "It is over."'),
)
@as_developer
def update_incident(
    own: Caller,
    incident: Annotated[str, typer.Argument(help="Id of the incident.")],
    state: Annotated[
        Literal["investigating", "identified", "monitoring", "resolved"], typer.Argument(help="State.")
    ],
    *,
    text: Text,
    key: Key = None,
) -> None:
    """State how far an incident is, as an administrator of the platform; `resolved` ends it."""
    _show(own.registry.status.update_incident(incident, state, text, key=key), as_json=own.as_json)


def _line(incident: "Incident") -> str:
    return f"{incident.id}  {incident.kind}  {incident.state}  {incident.title}"


def _show(incident: "Incident", *, as_json: bool) -> None:
    from .opening import show

    lines = [_line(incident), *(f"{update.state}: {update.body}" for update in incident.updates)]
    show("\n".join(lines), incident, as_json=as_json)
