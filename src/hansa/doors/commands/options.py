"""Options that several commands share, and the headings under which `hansa --help` lists the commands."""

from pathlib import Path
from typing import Annotated

import typer

RUN = "Run"
ADMINISTER = "Administer"
INSPECT = "Inspect"
DEVELOP = "Develop"


def examples(*lines: str) -> str:
    """The end of a command's help: lines that can be typed as they stand."""
    return "\n\n".join([f"Example{'s' if len(lines) > 1 else ''}:", *lines])


DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The registry's data directory (HANSA_DATA_DIR).", show_default=False),
]
NewFile = Annotated[Path, typer.Argument(help="Output file; it must not exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
