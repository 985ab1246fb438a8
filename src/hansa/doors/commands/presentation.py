"""How `--help` presents the commands: grouped by their purpose, flags without a type."""

from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

from hansa.doors.commands.options import ADMINISTER, DEVELOP, INSPECT, RUN

HELP_OPTIONS = ["-h", "--help"]
PANELS = (RUN, ADMINISTER, INSPECT, DEVELOP)


class CommandsByPurpose(TyperGroup):
    """The commands in the order of their panels."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names, in the order in which they are shown."""
        del ctx
        return sorted(self.commands, key=lambda name: PANELS.index(_panel_of(self.commands[name])))


def command_line(app: typer.Typer) -> Any:
    """The command to run, with every flag shown without a type."""
    command = typer.main.get_command(app)
    _show_flags_bare(command)
    return command


def _panel_of(command: Any) -> str:
    return command.rich_help_panel if command.rich_help_panel in PANELS else DEVELOP


def _show_flags_bare(command: Any) -> None:
    for option in command.get_params(typer.Context(command, help_option_names=HELP_OPTIONS)):
        if isinstance(option, TyperOption) and option.is_bool_flag:
            option.metavar = ""
    for subcommand in getattr(command, "commands", {}).values():
        _show_flags_bare(subcommand)
