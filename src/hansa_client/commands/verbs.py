"""The commands that `hansa-client` and `hansa` both have."""

import typer

from . import agents, login, pay, use
from .options import USE


def add_verbs(app: typer.Typer) -> None:
    """Add them to a program."""
    for group in (login.app, use.app, pay.app):
        app.add_typer(group)
    app.add_typer(agents.app, name="agent", rich_help_panel=USE)
    app.add_typer(pay.pending_app, name="pending", rich_help_panel=USE)
    app.add_typer(login.profile_app, name="profile", rich_help_panel=USE)
