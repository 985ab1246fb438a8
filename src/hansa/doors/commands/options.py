"""Options that several commands share, and the headings under which `hansa --help` lists the commands."""

from pathlib import Path
from typing import Annotated

import typer

from hansa.doors.commands.outcome import USAGE_ERROR, fail

RUN = "Run"
ADMINISTER = "Administer"
INSPECT = "Inspect"
DEVELOP = "Develop"
REASON_MAX_CHARACTERS = 2000


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
