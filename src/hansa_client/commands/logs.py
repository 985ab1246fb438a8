"""`logs`: the log of an agent, read once or followed."""

from time import sleep
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from .options import USE, AgentName, AsJson, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.logs import LogEntry
    from hansa_client.synchronous import Registry

app = typer.Typer()

POLL_SECONDS = 2.0
LEVEL_WIDTH = 5


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client logs --level ERROR", "hansa-client logs --follow --agent Painter"),
)
def logs(
    *,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with what is written from now on; ends with Ctrl-C.")
    ] = False,
    level: Annotated[str | None, typer.Option(help="Only DEBUG, INFO, WARN or ERROR.")] = None,
    text: Annotated[str | None, typer.Option(help="Only entries with this text in the message.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many of the newest entries.")] = 50,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show the log of an agent, the oldest of its newest entries first."""
    from .opening import as_agent

    with as_agent(profile, agent) as registry:
        page = registry.logs.read(limit=limit, level=level, text=text)
        for entry in page.logs[::-1]:
            print_entry(entry, as_json=as_json)
        if follow:
            last = page.logs[0] if page.logs else None
            follow_log(registry, last, level=level, text=text, as_json=as_json)


def follow_log(
    registry: "Registry", last: "LogEntry | None", *, level: str | None, text: str | None, as_json: bool
) -> NoReturn:
    """Print entries after the last one as they are written; an outage is named once. Raises: Refusal."""
    from hansa_client.errors import ServerFailed, Unreachable

    from .printing import one_line

    is_away = False
    while True:
        try:
            if last is None:
                entries = registry.logs.read(limit=500, level=level, text=text).logs[::-1]
            else:
                entries = registry.logs.after(last, level=level, text=text)
            is_away = False
        except (Unreachable, ServerFailed) as error:
            if not is_away:
                typer.echo(one_line(f"{error}".rstrip(".") + ". Trying again."), err=True)
            entries, is_away = [], True
        for entry in entries:
            print_entry(entry, as_json=as_json)
            last = entry
        sleep(POLL_SECONDS)


def print_entry(entry: "LogEntry", *, as_json: bool) -> None:
    """Print it at once, also into a pipe; messages are written by strangers."""
    import msgspec

    from .printing import one_line

    if as_json:
        typer.echo(msgspec.json.encode(entry))
        return
    parts = [
        entry.timestamp.isoformat(timespec="milliseconds"),
        entry.level.ljust(LEVEL_WIDTH),
        entry.message,
    ]
    if entry.log_metadata:
        parts.append(msgspec.json.encode(entry.log_metadata).decode())
    typer.echo(one_line("  ".join(parts)))
