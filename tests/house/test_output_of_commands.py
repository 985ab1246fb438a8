"""Standard output of a command is its outcome alone: log lines go to standard error."""

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from hansa.doors.commands.program import app

# `hansa serve` configures its log inside the block that words the failures of a start.
# `hansa config` states every fault that would end `settings_from`, and logs nothing.
SET_UP_BY_HAND = {"serve", "config"}
LOGGING_COMMAND = """
import structlog
from hansa.doors.commands.execution import settings_from

log = structlog.get_logger()
settings_from()
log.info("not shown")
log.warning("a peer did not answer", password="{secret}")
print("the outcome")
"""


def commands_on_data(group: Any) -> Iterator[tuple[str, Any]]:
    """Each command that takes a data directory, by its name."""
    for name, command in getattr(group, "commands", {}).items():
        yield from commands_on_data(command)
        if any(option.name == "data_dir" for option in command.params):
            yield name, inspect.unwrap(command.callback)


def reads_settings(function: Any) -> bool:
    """Return whether the function calls `settings_from`, itself or by a function that stands beside it."""
    beside = [function.__globals__.get(name) for name in function.__code__.co_names]
    return any(
        "settings_from" in one.__code__.co_names
        for one in (function, *beside)
        if inspect.isfunction(one) and one.__module__ == function.__module__
    )


def test_every_command_on_the_data_of_a_registry_configures_its_log():
    found = dict(commands_on_data(typer.main.get_command(app)))
    silent = {name for name, function in found.items() if not reads_settings(function)}
    assert len(found) > 30
    assert silent == SET_UP_BY_HAND


@pytest.mark.parametrize(("form", "start"), [("console", "20"), ("json", '{"')])
def test_warnings_of_a_command_stand_on_standard_error_without_secrets(form: str, start: str):
    ran = subprocess.run(
        [sys.executable, "-c", LOGGING_COMMAND.format(secret="swordfish")],
        env={**os.environ, "LOG_FORMAT": form},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "the outcome\n"
    [line] = ran.stderr.splitlines()
    assert line.startswith(start)
    assert "a peer did not answer" in line
    assert "swordfish" not in line
