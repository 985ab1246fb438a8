"""`hansa admin`: the people who administer the registry."""

import os
import sys
from typing import Annotated

import typer

from hansa.doors.commands.execution import USAGE_ERROR, fail, print_outcome, run_act, settings_from
from hansa.doors.commands.options import AsJson, DataDir, examples
from hansa.foundation.values.areas import ADMIN_AREAS

Email = Annotated[str, typer.Argument(help="E-mail address of the account.")]

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
    from hansa.doors import administrator_acts

    settings, chosen = settings_from(data_dir=data_dir), _areas(areas)
    developer_id = run_act(
        administrator_acts.create_administrator(
            settings, name=name, email=email, password=_administrators_password(), areas=chosen
        )
    )
    print_outcome(
        f"administrator {email} (developer {developer_id}): {', '.join(chosen)}",
        {"developer_id": developer_id, "email": email, "areas": chosen},
        as_json=as_json,
    )


@app.command("list", epilog=examples("hansa admin list", "hansa admin list --json"))
def list_administrators(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the administrators with their areas; also works while the registry runs."""
    from msgspec import to_builtins

    from hansa.doors import administrator_acts

    found = run_act(administrator_acts.list_administrators(settings_from(data_dir=data_dir)))
    lines = [
        f"{one.id:>6}  {one.email}  {','.join(one.areas) or 'no area'}"
        f"{'' if one.has_second_factor else '  without a second factor'}{'  suspended' if one.is_suspended else ''}"
        for one in found
    ]
    print_outcome(
        "\n".join(lines) or "no administrators", {"administrators": to_builtins(found)}, as_json=as_json
    )


@app.command("reset-password", epilog=examples("hansa admin reset-password ops@example.org"))
def reset_password(email: Email, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Set the password of an administrator and end every session of the account; API keys stay.

    The password comes from HANSA_ADMIN_PASSWORD, or is asked for.
    """
    from hansa.doors import administrator_acts

    settings = settings_from(data_dir=data_dir)
    password = _administrators_password()
    developer_id = run_act(administrator_acts.reset_administrators_password(settings, email, password))
    _print_changed(f"{email}: password set, sessions ended", developer_id, email, as_json=as_json)


@app.command("reset-2fa", epilog=examples("hansa admin reset-2fa ops@example.org"))
def reset_second_factor(email: Email, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Turn two-factor login of an administrator off, after the loss of the app and its codes; every session ends."""
    from hansa.doors import administrator_acts

    developer_id = run_act(administrator_acts.reset_second_factor(settings_from(data_dir=data_dir), email))
    _print_changed(f"{email}: two-factor login off, sessions ended", developer_id, email, as_json=as_json)


@app.command(
    "areas",
    epilog=examples(
        "hansa admin areas ops@example.org admin_platform,admin_support",
        "hansa admin areas ada@example.org admin_treasury",
    ),
)
def set_areas(
    email: Email,
    areas: Annotated[str, typer.Argument(help="Administration areas, separated by commas.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Set the areas of an administrator; every session ends.

    The last administrator of an area, suspended ones not counted, stays in it.
    """
    from hansa.doors import administrator_acts

    settings, chosen = settings_from(data_dir=data_dir), _areas(areas)
    developer_id = run_act(administrator_acts.set_areas(settings, email, chosen))
    shown = {
        "developer_id": developer_id,
        "email": email,
        "areas": chosen,
        "changed": developer_id is not None,
    }
    is_changed = "sessions ended" if developer_id is not None else "no changes"
    print_outcome(f"{email}: {', '.join(chosen)}; {is_changed}", shown, as_json=as_json)


@app.command("remove", epilog=examples("hansa admin remove ops@example.org"))
def remove_administrator(email: Email, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Take every area from an administrator and end every session; the account stays.

    Refused for the last administrator of an area, suspended ones not counted.
    """
    from hansa.doors import administrator_acts

    developer_id = run_act(administrator_acts.remove_administrator(settings_from(data_dir=data_dir), email))
    _print_changed(f"{email}: no administrator, sessions ended", developer_id, email, as_json=as_json)


def _print_changed(sentence: str, developer_id: int, email: str, *, as_json: bool) -> None:
    print_outcome(sentence, {"developer_id": developer_id, "email": email}, as_json=as_json)


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
