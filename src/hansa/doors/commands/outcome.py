"""How a command ends: its outcome on standard output, or one line on standard error and an exit status."""

import sys
from typing import Any, NoReturn

import typer

FAILED = 1
USAGE_ERROR = 2


def print_outcome(sentence: str, members: dict[str, Any], *, as_json: bool) -> None:
    """Print the sentence, or its members as JSON."""
    import json

    typer.echo(json.dumps(members, indent=2) if as_json else sentence)


def fail(sentence: str, code: int = FAILED) -> NoReturn:
    """End the command with one line."""
    typer.echo(f"hansa: {sentence}", err=True)
    sys.exit(code)
