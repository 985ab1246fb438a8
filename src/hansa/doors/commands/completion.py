"""`hansa completion`: completion of commands and options in the shell."""

from typing import Annotated, Literal

import typer

from hansa.doors.commands.options import INSPECT, examples
from hansa.doors.commands.presentation import COMPLETION_VARIABLE, PROGRAM

app = typer.Typer()


@app.command(
    rich_help_panel=INSPECT,
    epilog=examples(
        "bash, in ~/.bashrc: source <(hansa completion bash)",
        "zsh, in ~/.zshrc after compinit: source <(hansa completion zsh)",
        "fish: hansa completion fish > ~/.config/fish/completions/hansa.fish",
    ),
)
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.")]) -> None:
    """Print the completion script for a shell; no file is changed."""
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, shell=shell)
    typer.echo(script)
