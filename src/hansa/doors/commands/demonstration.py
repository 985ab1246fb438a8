"""`hansa demo`."""

from typing import Annotated

import typer

from hansa.doors.commands.options import RUN, examples
from hansa.doors.commands.outcome import fail

app = typer.Typer()


@app.command(rich_help_panel=RUN, epilog=examples("hansa demo", "hansa demo http://127.0.0.1:8000"))
def demo(
    url: Annotated[
        str | None, typer.Argument(help="A running registry; without one, a temporary one is started.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON only.")] = False,
) -> None:
    """Run the whole path against a registry; exit 0 only when the books add up."""
    import asyncio
    import json

    import httpx2
    from rich.console import Console

    from hansa.doors.demo import DemoFailed, run_demo

    console = Console(quiet=as_json, highlight=False)
    try:
        report = asyncio.run(run_demo(url, console))
    except (DemoFailed, httpx2.InvalidURL) as trouble:
        fail(str(trouble))
    if as_json:
        typer.echo(json.dumps(report, indent=2))
