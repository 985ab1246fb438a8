"""Options that several commands share, and the headings under which `hansa --help` lists the commands.

The passphrase with which keys leave a machine and reach another.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from hansa.doors.commands.execution import USAGE_ERROR, fail

RUN = "Run"
ADMINISTER = "Administer"
INSPECT = "Inspect"
DEVELOP = "Develop"
REASON_MAX_CHARACTERS = 2000
VARIABLE = "HANSA_KEYS_PASSPHRASE"


def examples(*lines: str) -> str:
    """The end of a command's help: lines that can be typed as they stand."""
    return "\n\n".join([f"Example{'s' if len(lines) > 1 else ''}:", *lines])


def _short(reason: str) -> str:
    if len(reason) > REASON_MAX_CHARACTERS:
        fail(f"--reason is too long: at most {REASON_MAX_CHARACTERS} characters.", USAGE_ERROR)
    return reason


DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The registry's data directory (HANSA_DATA_DIR).", show_default=False),
]
NewFile = Annotated[Path, typer.Argument(help="Output file; it must not exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Reason = Annotated[str, typer.Option(help="Reason, recorded in the audit log.", callback=_short)]


def passphrase(*, confirm: bool = False) -> str:
    """From the variable, or asked for at a terminal."""
    if given := os.environ.get(VARIABLE):
        return given
    if not sys.stdin.isatty():
        fail(f"a passphrase is required: set {VARIABLE} or run the command in a terminal.", USAGE_ERROR)
    asked: str = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return asked
