"""Options that several commands share, and the headings under which `hansa --help` lists the commands."""

from pathlib import Path
from typing import Annotated

import typer

RUN = "Run"
ADMINISTER = "Administer"
INSPECT = "Inspect"
DEVELOP = "Develop"

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The registry's data directory (HANSA_DATA_DIR).", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]
