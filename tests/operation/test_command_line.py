"""The commands of the operator."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import asyncpg
import click
import pytest
import typer.main

from hansa.doors.commands.program import app
from tests.operation.registry_process import RegistryProcess, run


def commands(group: click.Command, *path: str) -> list[tuple[str, ...]]:
    """Every command and group, as it is typed after `hansa`."""
    found = [path]
    for name, command in getattr(group, "commands", {}).items():
        if not command.hidden:
            found += commands(command, *path, name)
    return found


@pytest.mark.parametrize("command", commands(typer.main.get_command(app)), ids=" ".join)
async def test_every_command_explains_itself(tmp_path: Path, command: tuple[str, ...]):
    told = await run(*command, "--help", data_dir=tmp_path / "data")
    assert told.code == 0
    assert "Usage: hansa" in told.output
    assert told.complaint == ""
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("command", commands(typer.main.get_command(app)), ids=" ".join)
async def test_short_help_shows_every_flag_without_a_type(tmp_path: Path, command: tuple[str, ...]):
    shown = await run(*command, "-h", data_dir=tmp_path / "data")
    assert (shown.code, shown.complaint) == (0, "")
    assert "<bool>" not in shown.output


async def test_commands_are_listed_by_their_purpose(tmp_path: Path):
    shown = (await run("--help", data_dir=tmp_path / "data")).output
    places = [shown.index(f"─ {panel} ─") for panel in ("Run", "Administer", "Inspect", "Develop")]
    assert places == sorted(places)
    assert min(shown.index("│ map "), shown.index("│ events ")) > places[-1]


async def test_help_is_shown_without_loading_the_service():
    script = (
        "import sys\nfrom hansa.doors.operate import main\nsys.argv = ['hansa', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sorted(sys.modules), file=sys.stderr)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=PIPE, stderr=PIPE)
    _, loaded = await process.communicate()
    assert not {"pydantic", "asyncpg", "fastapi", "structlog", "asyncio"} & set(loaded.decode().split())


async def test_a_wrong_option_is_a_usage_error(tmp_path: Path):
    ended = await run("serve", "--prot=1", data_dir=tmp_path / "data")
    assert ended.code == 2
    assert "--prot" in ended.complaint


async def test_the_printed_address_leads_to_the_database_in_use(running: RegistryProcess):
    connection = await asyncpg.connect(await running.database())
    assert await connection.fetchval("SELECT count(*) FROM ledger_account WHERE kind = 'system'") == 2
    await connection.close()


async def test_the_schema_can_be_migrated_while_the_registry_runs(running: RegistryProcess):
    ended = await run("db", "migrate", data_dir=running.data_dir)
    assert (ended.code, ended.complaint) == (0, "")


@pytest.mark.parametrize("command", ["url", "migrate"])
async def test_a_registry_that_does_not_run_has_no_database_to_name(tmp_path: Path, command: str):
    ended = await run("db", command, data_dir=tmp_path / "data")
    assert ended.code == 1
    assert ended.output == ""
    assert ended.complaints == [f"hansa: No embedded PostgreSQL runs in {tmp_path / 'data'}."]
