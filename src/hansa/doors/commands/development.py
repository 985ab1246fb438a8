"""Commands for maintainers of Hansa: `hansa map` and `hansa schema …` generate documentation from the code."""

from pathlib import Path
from typing import Annotated

import typer

from hansa.doors.commands.execution import fail
from hansa.doors.commands.options import DEVELOP, examples

app = typer.Typer()
schema_app = typer.Typer(help="Generate schemas.", no_args_is_help=True)


@app.command("map", rich_help_panel=DEVELOP, epilog=examples("hansa map --write docs/map.md"))
def write_map(
    context: typer.Context,
    write: Annotated[
        Path | None,
        typer.Option(help="File to write; by default the reference is printed.", show_default=False),
    ] = None,
) -> None:
    """Generate the reference of routes, commands, settings, tables, events and background jobs (docs/map.md)."""
    from hansa.doors.reference_map import draw_map

    # The command that runs knows no others; the program is the object of the context.
    program: typer.Typer = context.find_root().obj
    drawn = draw_map(typer.main.get_command(program))
    if write is None:
        typer.echo(drawn, nl=False)
        return
    try:
        write.write_text(drawn)
    except OSError as error:
        fail(f"{write} cannot be written: {error.strerror}")


@schema_app.command("events", epilog=examples("hansa schema events --write docs/events"))
def event_schemas(
    write: Annotated[Path, typer.Option(help="Output directory; other schemas in it are removed.")],
) -> None:
    """Generate a JSON Schema file for each event type."""
    from hansa.foundation.events import event_types
    from hansa.foundation.events.schemas import schema_file

    expected = {f"{kind.__name__}.json": schema_file(kind) for kind in event_types()}
    try:
        write.mkdir(parents=True, exist_ok=True)
        for name, schema in expected.items():
            (write / name).write_text(schema)
        for file in write.glob("*.json"):
            if file.name not in expected:
                file.unlink()
    except OSError as error:
        fail(f"{write} cannot be written: {error.strerror}")


@schema_app.command(
    "registry-card",
    epilog=examples(
        "hansa schema registry-card --write src/hansa_verify/registry_card_schema.json --reference docs/registry-card.md"
    ),
)
def registry_card_schema(
    write: Annotated[Path, typer.Option(help="File for the JSON Schema.")],
    reference: Annotated[Path, typer.Option(help="File for the table of members.")],
) -> None:
    """Generate the JSON Schema and the reference of the registry card."""
    from hansa.doors.registry_card_reference import draw_reference, schema_text

    for file, text in ((write, schema_text()), (reference, draw_reference())):
        try:
            file.write_text(text)
        except OSError as error:
            fail(f"{file} cannot be written: {error.strerror}")
