"""`hansa admin`: the people who administer the registry."""

import os
import sys
from typing import Annotated

import typer

from hansa.doors.commands.execution import USAGE_ERROR, fail, print_outcome, run_act, settings_from
from hansa.doors.commands.options import AsJson, DataDir, examples
from hansa.foundation.values.areas import ADMIN_AREAS

app = typer.Typer(help="Manage administrators of the registry.", no_args_is_help=True)


@app.command(
    "create",
    epilog=examples(
        "hansa admin create --name Ops --email ops@example.org",
        "hansa admin create --name Help --email help@example.org --areas admin_support",
    ),
)
def create_administrator(
    name: Annotated[str, typer.Option(help="Display name.")],
    email: Annotated[str, typer.Option(help="E-mail address; it is marked as verified.")],
    areas: Annotated[str, typer.Option(help="Administration areas, separated by commas.")] = ",".join(
        ADMIN_AREAS
    ),
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Create an administrator; also works while the registry runs.

    The password comes from HANSA_ADMIN_PASSWORD, or is asked for.
    """
    from hansa.doors import offline_commands

    settings, chosen = settings_from(data_dir=data_dir), _areas(areas)
    developer_id = run_act(
        offline_commands.create_administrator(
            settings, name=name, email=email, password=_administrators_password(), areas=chosen
        )
    )
    print_outcome(
        f"administrator {email} (developer {developer_id}): {', '.join(chosen)}",
        {"developer_id": developer_id, "email": email, "areas": chosen},
        as_json=as_json,
    )


def _areas(text: str) -> list[str]:
    """The areas named, each once, in their usual order."""
    named = {word.strip() for word in text.split(",")}
    if not named <= set(ADMIN_AREAS):
        fail(f"--areas {text!r} is invalid: allowed values are {', '.join(ADMIN_AREAS)}.", USAGE_ERROR)
    return [area for area in ADMIN_AREAS if area in named]


def _administrators_password() -> str:
    given = os.environ.get("HANSA_ADMIN_PASSWORD")
    if given:
        return given
    if not sys.stdin.isatty():
        fail(
            "a password is required: set HANSA_ADMIN_PASSWORD or run the command in a terminal.", USAGE_ERROR
        )
    asked: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return asked
