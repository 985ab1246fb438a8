"""Printed output: an event as one line, and texts of others without characters that would act on the terminal."""

import re

import msgspec
import typer

from hansa_client.records.events import Event

SHOWN = ("amount", "currency", "from", "to", "message", "did", "reason")
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters but tab and new line, and what reverses the direction of a text: names and messages are written by strangers."""


def printable(text: str) -> str:
    """The text with such characters as escapes, which change nothing on a terminal."""
    return ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The same without line breaks."""
    return printable(" ".join(text.splitlines()))


def print_event(event: Event, *, as_json: bool) -> None:
    """Print it at once, also into a pipe."""
    if as_json:
        typer.echo(msgspec.json.encode(event))
    else:
        parts = [f"{name}={event.data[name]}" for name in SHOWN if event.data.get(name) is not None]
        typer.echo(
            one_line("  ".join([event.timestamp.isoformat(timespec="seconds"), event.event_type, *parts]))
        )
