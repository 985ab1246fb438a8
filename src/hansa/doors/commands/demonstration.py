"""`hansa demo`."""

import sys
from typing import Annotated

import typer

from hansa.doors.commands.options import RUN, examples
from hansa.doors.commands.outcome import USAGE_ERROR, fail

app = typer.Typer()


@app.command(
    rich_help_panel=RUN, epilog=examples("hansa demo", "hansa demo http://127.0.0.1:8000 --yes --remove")
)
def demo(
    url: Annotated[
        str | None, typer.Argument(help="A running registry; without one, a temporary one is started.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Write into a registry that has agents of others, unasked.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Afterwards end the agents and accounts that the demo made.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON only.")] = False,
) -> None:
    """Run the whole path against a registry; exit 0 only when the books add up."""
    import asyncio
    import json

    import httpx2
    from rich.console import Console

    from hansa.doors.demo import DemoFailed, Options, run_demo

    console = Console(quiet=as_json, highlight=False)
    options = Options(confirm=None if yes or url is None else _confirm, removes=remove)
    try:
        report = asyncio.run(run_demo(url, console, options))
    except (DemoFailed, httpx2.InvalidURL) as trouble:
        fail(str(trouble))
    if as_json:
        typer.echo(json.dumps(report, indent=2))


def _confirm(question: str) -> bool:
    if not sys.stdin.isatty():
        fail(f"{question} Answer at a terminal, or confirm with --yes.", USAGE_ERROR)
    return typer.confirm(question, err=True)
