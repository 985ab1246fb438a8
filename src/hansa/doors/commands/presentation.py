"""How `--help` presents the commands: grouped by their purpose, flags without a type."""

import os
import sys
from copy import copy
from functools import cache
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup, TyperOption
from typer.exceptions import TyperException
from typer.main import get_command_name
from typer.models import TyperInfo

from hansa.doors.commands.execution import fail
from hansa.doors.commands.options import ADMINISTER, DEVELOP, INSPECT, RUN
from hansa_client.commands.options import USE
from hansa_client.commands.usage import usage_sentence

HELP_OPTIONS = ["-h", "--help"]
PROGRAM = "hansa"
CONFIG_OPTION = "--config"
COMPLETION_VARIABLE = "_HANSA_COMPLETE"
PANELS = (RUN, USE, ADMINISTER, INSPECT, DEVELOP)


class CommandsByPurpose(TyperGroup):
    """The commands in the order of their panels."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names, in the order in which they are shown."""
        del ctx
        return sorted(self.commands, key=lambda name: PANELS.index(_panel_of(self.commands[name])))


def run_command_line(app: typer.Typer) -> None:
    """Run the command that was typed, or answer a shell that asks how to complete one."""
    is_completion = COMPLETION_VARIABLE in os.environ
    if is_completion:
        from typer._completion_classes import completion_init

        completion_init()
    config, typed = _config_apart(sys.argv[1:])
    sys.argv[1:] = [*config, *typed]
    command = _build_command(app, None if is_completion else next(iter(typed), None))
    try:
        code = command(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, standalone_mode=False, obj=app)
    except TyperException as error:
        _end_usage_error(error)
    except typer.Abort:
        fail("aborted")
    sys.exit(code if isinstance(code, int) else 0)


def _config_apart(typed: list[str]) -> tuple[list[str], list[str]]:
    """The option for the settings file, typed before or behind the command, and the other arguments."""
    for at, argument in enumerate(typed):
        if argument == "--":
            break
        if argument == CONFIG_OPTION or argument.startswith(f"{CONFIG_OPTION}="):
            end = at + (2 if argument == CONFIG_OPTION else 1)
            return typed[at:end], typed[:at] + typed[end:]
    return [], typed


@cache
def _build_command(app: typer.Typer, name: str | None) -> Any:
    """The command line, or only the groups that have a command of this name, if there are any."""
    command = typer.main.get_command(_app_with_command(app, name))
    _show_flags_bare(command)
    return command


# All 130 commands take 50 ms to build, and a process runs one of them.
def _app_with_command(app: typer.Typer, name: str | None) -> typer.Typer:
    groups = [group for group in app.registered_groups if name in _command_names(group)]
    if not groups:
        return app
    narrowed = copy(app)
    narrowed.registered_groups = groups
    return narrowed


def _command_names(group: TyperInfo) -> list[str]:
    """The names at the top: that of the group, or those of its commands where it has none."""
    if isinstance(group.name, str):
        return [group.name]
    assert group.typer_instance is not None
    return [
        command.name or get_command_name(command.callback.__name__)
        for command in group.typer_instance.registered_commands
        if command.callback is not None
    ]


def _end_usage_error(error: TyperException) -> NoReturn:
    sentence = usage_sentence(error, PROGRAM)
    if sentence is None:
        sys.exit(error.exit_code)
    fail(sentence, error.exit_code)


def _panel_of(command: Any) -> str:
    return command.rich_help_panel if command.rich_help_panel in PANELS else DEVELOP


def _show_flags_bare(command: Any) -> None:
    for option in command.get_params(typer.Context(command, help_option_names=HELP_OPTIONS)):
        if isinstance(option, TyperOption) and option.is_bool_flag:
            option.metavar = ""
    for subcommand in getattr(command, "commands", {}).values():
        _show_flags_bare(subcommand)
