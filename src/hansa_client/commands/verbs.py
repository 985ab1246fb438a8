"""The commands that `hansa-client` and `hansa` both have."""

import typer

from . import agents, login, pay, use
from .options import USE

CLIENT = "hansa-client"


def add_verbs(app: typer.Typer, *, program: str = CLIENT) -> None:
    """Add them to a program, with its name in their examples."""
    for group in (login.app, use.app, pay.app, agents.app, pay.pending_app, login.profile_app):
        for command in group.registered_commands:
            command.epilog = (command.epilog or "").replace(f"{CLIENT} ", f"{program} ")
    for group in (login.app, use.app, pay.app):
        app.add_typer(group)
    app.add_typer(agents.app, name="agent", rich_help_panel=USE)
    app.add_typer(pay.pending_app, name="pending", rich_help_panel=USE)
    app.add_typer(login.profile_app, name="profile", rich_help_panel=USE)
