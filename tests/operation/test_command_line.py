"""The commands of the operator."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import typer.main

import hansa
from hansa.doors.commands import presentation
from hansa.doors.commands.presentation import run_command_line
from hansa.doors.commands.program import app
from tests.operation.conftest import Launch
from tests.operation.registry_process import Ended, RegistryProcess, run
from tests.properties.scale import by_tier


def commands(group: Any, *path: str) -> dict[tuple[str, ...], Any]:
    """Return every command and group, by the words that follow `hansa`."""
    found = {path: group}
    for name, command in getattr(group, "commands", {}).items():
        if not command.hidden:
            found |= commands(command, *path, name)
    return found


EVERY_COMMAND = commands(typer.main.get_command(app))


def is_group(path: tuple[str, ...]) -> bool:
    return hasattr(EVERY_COMMAND[path], "commands")


def shown(*arguments: str) -> Ended:
    """Return the output of a command that ends at once, run in this process."""
    output, complaint = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(complaint):
        patch.setattr(sys, "argv", ["hansa", *arguments])
        with pytest.raises(SystemExit) as ended:
            run_command_line(app)
    return Ended(int(ended.value.code or 0), output.getvalue(), complaint.getvalue())


@pytest.fixture(scope="module")
def explained() -> dict[tuple[str, ...], Ended]:
    """Return the output of `--help` of each command."""
    return {path: shown(*path, "--help") for path in EVERY_COMMAND}


def test_every_command_explains_itself(explained: dict[tuple[str, ...], Ended]):
    for path, ended in explained.items():
        assert (ended.code, ended.complaint) == (0, ""), path
        assert "Usage: hansa" in ended.output, path


def test_short_help_is_the_same_as_help(explained: dict[tuple[str, ...], Ended]):
    for path, ended in list(explained.items())[:: by_tier(8, 1, 1)]:
        assert shown(*path, "-h") == ended, path


def test_help_shows_every_flag_without_a_type(explained: dict[tuple[str, ...], Ended]):
    assert not [path for path, ended in explained.items() if "<bool>" in ended.output]


def test_the_help_of_a_command_shows_it_in_use(explained: dict[tuple[str, ...], Ended]):
    for path, ended in explained.items():
        if not is_group(path):
            assert f"hansa {' '.join(path)}" in ended.output.partition("Example")[2], path


async def test_the_installed_program_explains_a_command(tmp_path: Path):
    explained = await run("db", "migrate", "--help", data_dir=tmp_path / "data", as_program=True)
    assert (explained.code, explained.complaint) == (0, "")
    assert "Usage: hansa db migrate" in explained.output
    assert not (tmp_path / "data").exists()


def test_commands_are_listed_by_their_purpose(explained: dict[tuple[str, ...], Ended]):
    listing = explained[()].output
    places = [listing.index(f"─ {panel} ─") for panel in ("Run", "Administer", "Inspect", "Develop")]
    assert places == sorted(places)
    assert min(listing.index("│ map "), listing.index("│ schema ")) > places[-1]


async def test_help_is_shown_without_loading_the_service():
    script = (
        "import sys\nfrom hansa.doors.operate import run\nsys.argv = ['hansa', '--help']\n"
        "try:\n    run()\nexcept SystemExit:\n    print(*sorted(sys.modules), file=sys.stderr)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=PIPE, stderr=PIPE)
    _, loaded = await process.communicate()
    assert not {"pydantic", "asyncpg", "fastapi", "structlog", "asyncio"} & set(loaded.decode().split())


async def test_a_wrong_option_is_a_usage_error(tmp_path: Path):
    ended = await run("serve", "--prot=1", data_dir=tmp_path / "data")
    assert (ended.code, ended.output) == (2, "")
    assert ended.complaints == [
        "hansa: No such option: --prot (Possible options: --host, --port). See `hansa serve --help`."
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("mint", "Missing option '--amount'. See `hansa mint --help`."),
        (
            "serve --port=abc",
            "Invalid value for '--port': it must be a whole number. See `hansa serve --help`.",
        ),
        ("mintt", "No such command 'mintt'. Did you mean 'mint', 'admin'? See `hansa --help`."),
    ],
)
async def test_a_usage_error_is_one_line_without_internals(tmp_path: Path, arguments: str, complaint: str):
    ended = await run(*arguments.split(), data_dir=tmp_path / "data")
    assert (ended.code, ended.output, ended.complaints) == (2, "", [f"hansa: {complaint}"])


def test_a_command_that_is_built_alone_is_the_one_of_the_whole_program():
    whole = presentation._build_command(app, None)
    for name, command in whole.commands.items():
        part = presentation._build_command(app, name)
        assert len(part.commands) < len(whole.commands)
        assert options(part.commands[name]) == options(command)


def options(group: Any) -> dict[tuple[str, ...], list[tuple[str, list[str]]]]:
    """Those of a command, or of each command of a group."""
    return {
        path: [(one.name, one.opts) for one in command.params] for path, command in commands(group).items()
    }


async def test_the_version_is_printed(tmp_path: Path):
    shown = await run("--version", data_dir=tmp_path / "data")
    assert (shown.code, shown.output, shown.complaint) == (0, f"hansa {hansa.__version__}\n", "")


async def test_the_printed_address_leads_to_the_database_in_use(running: RegistryProcess):
    connection = await asyncpg.connect(await running.database())
    assert await connection.fetchval("SELECT count(*) FROM ledger_account WHERE kind = 'system'") == 10
    await connection.close()


async def test_the_schema_can_be_migrated_while_the_registry_runs(running: RegistryProcess):
    ended = await run("db", "migrate", data_dir=running.data_dir)
    assert (ended.code, ended.complaint) == (0, "")


@pytest.mark.parametrize("command", ["url", "migrate"])
async def test_a_stopped_registry_has_no_database_in_use(operated: Launch, command: str):
    registry = operated()
    await registry.start()
    await registry.stop()
    ended = await run("db", command, data_dir=registry.data_dir)
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert "is not running" in line
    assert f"start it with `hansa serve --data-dir {registry.data_dir}`" in line
