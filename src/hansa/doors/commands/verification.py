"""`hansa verify`: whether a registry signed what it is said to have signed."""

import sys
from datetime import datetime
from typing import Annotated

import typer

from hansa.doors.commands.options import AsJson, examples
from hansa.doors.commands.outcome import FAILED, USAGE_ERROR, fail, print_outcome

app = typer.Typer(help="Verify what a registry signed; needs no server.", no_args_is_help=True)


@app.command(
    "card",
    epilog=examples(
        "hansa verify card https://registry.example.org/api/v1/agents/DID/card-export",
        "hansa verify card card.json --keys https://registry.example.org/.well-known/registry-jwks.json",
    ),
)
def verify_card(
    source: Annotated[str, typer.Argument(help="An exported card: its address, or a file.")],
    keys: Annotated[
        str | None,
        typer.Option(
            help="The registry's keys: an address or a file. Required when the card is a file; else those of its host."
        ),
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="Judge as of this time (ISO 8601), by the registry's history of keys.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify an exported card. Exit 0: the registry signed it; 1: it did not; 2: it cannot be read."""
    from hansa.doors import verifying

    try:
        asked = verifying.CardToJudge(source, keys, _moment(at))
        verdict = verifying.judge_card(asked)
    except verifying.CannotRead as trouble:
        fail(str(trouble), USAGE_ERROR)
    lines = [f"{'ok  ' if step.holds else 'FAIL'} {step.name}: {step.said}" for step in verdict.steps]
    print_outcome("\n".join([*lines, verdict.code]), verifying.told(verdict), as_json=as_json)
    sys.exit(0 if verdict.is_valid else FAILED)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        fail(f"--at {text!r} is refused: allowed is a time such as 2026-01-31T12:00:00Z.", USAGE_ERROR)
    return moment
