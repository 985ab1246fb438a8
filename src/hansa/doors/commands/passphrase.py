"""The passphrase with which keys leave a machine and reach another."""

import os
import sys

import typer

from hansa.doors.commands.outcome import USAGE_ERROR, fail

VARIABLE = "HANSA_KEYS_PASSPHRASE"


def passphrase(*, confirm: bool = False) -> str:
    """From the variable, or asked for at a terminal."""
    if given := os.environ.get(VARIABLE):
        return given
    if not sys.stdin.isatty():
        fail(f"a passphrase is required: set {VARIABLE} or run the command in a terminal.", USAGE_ERROR)
    asked: str = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return asked
