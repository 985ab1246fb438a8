"""One event as one line."""

import msgspec
import typer

from hansa_client.records.events import Event

SHOWN = ("amount", "currency", "from", "to", "message", "did", "reason")


def print_event(event: Event, *, as_json: bool) -> None:
    """Print it at once, also into a pipe."""
    if as_json:
        typer.echo(msgspec.json.encode(event))
    else:
        parts = [f"{name}={event.data[name]}" for name in SHOWN if event.data.get(name) is not None]
        typer.echo("  ".join([event.timestamp.isoformat(timespec="seconds"), event.event_type, *parts]))
