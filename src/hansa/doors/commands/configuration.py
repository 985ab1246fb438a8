"""`hansa config`: the settings in effect, and whether a start would take them."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hansa.doors.commands.execution import FAILED, print_outcome
from hansa.doors.commands.options import INSPECT, AsJson, DataDir, examples

if TYPE_CHECKING:
    from hansa.foundation.plumbing.process.effective_settings import Examination

app = typer.Typer()


@app.command(
    "config",
    rich_help_panel=INSPECT,
    epilog=examples(
        "hansa config", "hansa config --check --config /etc/hansa/hansa.env", "hansa config --json"
    ),
)
def show_config(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Print faults alone; exit 1 if a start would be refused.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Print the settings in effect, each with its source: environment, file, default, governance. Secrets are hidden; needs no server."""
    import asyncio

    from msgspec.structs import asdict, replace

    from hansa.doors.diagnosis.facts import read_governed_if_reached
    from hansa.foundation.plumbing.process.effective_settings import examine_settings
    from hansa.foundation.plumbing.settings import judge_settings

    found = examine_settings(data_dir)
    is_sound = not found.faults
    settings, _ = judge_settings(data_dir=data_dir)
    governed = None
    if is_sound and not check and settings is not None:
        governed = asyncio.run(read_governed_if_reached(settings))
        values = {one.name.upper(): one.value for one in governed or () if one.source == "governance"}
        effective = [
            replace(one, value=values[one.name], source="governance") if one.name in values else one
            for one in found.settings
        ]
        found = replace(found, settings=effective)
    for sentence in () if as_json else (*found.faults, *(f"warning: {one}" for one in found.warnings)):
        typer.echo(f"hansa: {sentence}", err=True)
    shown = {
        "sound": is_sound,
        "settings_file": found.settings_file,
        **({} if check else {"settings": [asdict(one) for one in found.settings]}),
        **({} if check else {"governance_read": governed is not None}),
        "faults": found.faults,
        "warnings": found.warnings,
    }
    if as_json or is_sound:
        text = "the settings have allowed values" if check else _table(found, is_read=governed is not None)
        print_outcome(text, shown, as_json=as_json)
    sys.exit(0 if is_sound else FAILED)


def _table(found: "Examination", *, is_read: bool) -> str:
    width = max(len(one.name) for one in found.settings)
    rows = (f"{one.name:<{width}}  {one.source:<11}  {_text(one.value)}" for one in found.settings)
    unread = [] if is_read else ["The database was not reached: values of governance are not shown."]
    return "\n".join([f"settings file: {found.settings_file or 'none'}", *rows, *unread])


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
