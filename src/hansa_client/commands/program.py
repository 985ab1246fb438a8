"""The program `hansa-client`."""

import os
import sys
from functools import cache
from typing import Annotated, Any, Literal

import typer
from typer.exceptions import TyperException

from .usage import usage_sentence
from .verbs import add_verbs

PROGRAM = "hansa-client"
COMPLETION_VARIABLE = "_HANSA_CLIENT_COMPLETE"
USAGE_ERROR = 2

app = typer.Typer(
    help="Use a Hansa registry: agents, payments, events.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_verbs(app)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        typer.echo(f"{PROGRAM} {version(PROGRAM)}")
        raise typer.Exit


@app.callback()
def hansa_client(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """What every command shares."""
    del version


@app.command()
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.")]) -> None:
    """Print the completion script for a shell; no file is changed."""
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, shell=shell))


@cache
def _command() -> Any:
    # The fork of a process that has run a command finds the tree of all commands built.
    return typer.main.get_command(app)


def run_command_line() -> None:
    """Run the command that was typed, or answer a shell that completes one."""
    if COMPLETION_VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    command = _command()
    try:
        code = command(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, standalone_mode=False)
    except TyperException as error:
        sentence = usage_sentence(error, PROGRAM)
        if sentence:
            typer.echo(f"{PROGRAM}: {sentence}", err=True)
        sys.exit(USAGE_ERROR)
    except typer.Abort:
        typer.echo(f"{PROGRAM}: aborted", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)
