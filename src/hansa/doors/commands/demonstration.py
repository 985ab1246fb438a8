"""`hansa demo`."""

import sys
from typing import Annotated

import typer

from hansa.doors.commands.execution import USAGE_ERROR, fail
from hansa.doors.commands.options import RUN, examples

app = typer.Typer()


@app.command(
    rich_help_panel=RUN,
    epilog=examples(
        "hansa demo", "hansa demo --federation", "hansa demo http://127.0.0.1:8000 --yes --remove"
    ),
)
def demo(
    url: Annotated[
        str | None,
        typer.Argument(help="Address of a running registry; by default a temporary one is started."),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Do not ask before writing to a registry that has other agents."),
    ] = False,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="At the end, delete the agents and accounts that the demo created."),
    ] = False,
    federation: Annotated[
        bool,
        typer.Option("--federation", help="Start three registries that become peers and pay each other."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON only.")] = False,
) -> None:
    """Run a complete example against a registry; exit 0 only when all balances and the supply are correct."""
    import asyncio
    import json

    import httpx2
    from rich.console import Console

    from hansa.doors.demo import DemoFailed, Options, run_demo
    from hansa.doors.demo.federation import run_federation_demo

    if federation and (url is not None or remove):
        fail("--federation starts registries of its own: give neither a URL nor --remove.", USAGE_ERROR)
    console = Console(quiet=as_json, highlight=False)
    options = Options(confirm=None if yes or url is None else _confirm, removes=remove)
    try:
        report = asyncio.run(run_federation_demo(console) if federation else run_demo(url, console, options))
    except (DemoFailed, httpx2.InvalidURL) as error:
        fail(str(error))
    if as_json:
        typer.echo(json.dumps(report, indent=2))


def _confirm(question: str) -> bool:
    if not sys.stdin.isatty():
        fail(f"{question} Confirm in a terminal or with --yes.", USAGE_ERROR)
    return typer.confirm(question, err=True)
