"""`register`, `accept-terms`, `login`, `logout` and `profile`: who the commands act for."""

from typing import Annotated

import typer

from .options import USE, AsJson, ProfileName, examples

PASSWORD_VARIABLE = "HANSA_CLIENT_PASSWORD"  # noqa: S105
KEY_VARIABLE = "HANSA_CLIENT_API_KEY"

Url = Annotated[str | None, typer.Argument(help="Address of the registry; by default that of the profile.")]
Email = Annotated[str | None, typer.Option(help="E-mail address of the account.")]

app = typer.Typer()
profile_app = typer.Typer(help="List and choose profiles.", no_args_is_help=True)


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client register https://registry.example --name Ada --email ada@example.org"),
)
def register(
    url: Annotated[str, typer.Argument(help="Address of the registry.")],
    name: Annotated[
        str | None, typer.Option(help="Display name; prompted for where it is not given.")
    ] = None,
    email: Annotated[
        str | None, typer.Option(help="E-mail address; prompted for where it is not given.")
    ] = None,
    *,
    recovery_keys: Annotated[
        str, typer.Option(help="File to write the three recovery keys to; it must not exist.")
    ],
    accept_terms: Annotated[
        bool, typer.Option("--accept-terms", help="Accept the terms; state that you are of age.")
    ] = False,
    invite_code: Annotated[
        str | None, typer.Option(help="Invitation, where the registry requires one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a developer account. The password is read from HANSA_CLIENT_PASSWORD or the terminal."""
    from .opening import as_anyone, require_new, show, write_new

    with as_anyone(None, url) as registry:
        require_new(recovery_keys)
        made = registry.accounts.register(
            name or typer.prompt("Name", err=True),
            email or typer.prompt("E-mail", err=True),
            typed_password(),
            accept_terms=accept_terms,
            is_of_age=accept_terms,
            invite_code=invite_code,
        )
        write_new(recovery_keys, "\n".join(made.recovery_keys) + "\n")
        show(made.message, {"message": made.message, "recovery_keys_file": recovery_keys}, as_json=as_json)


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client login https://registry.example --email ada@example.org"),
)
def login(
    url: Url = None,
    email: Email = None,
    code: Annotated[
        str | None, typer.Option(help="Two-factor code; prompted for where it is needed.")
    ] = None,
    *,
    api_key: Annotated[
        bool, typer.Option("--api-key", help="Use an API key, from HANSA_CLIENT_API_KEY or the terminal.")
    ] = False,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Log in. The password is read from HANSA_CLIENT_PASSWORD or the terminal; secrets are stored in the keyring."""
    from hansa_client.calls import origin_of
    from hansa_client.credentials import ApiKey
    from hansa_client.synchronous import Registry

    from . import opening
    from .profiles import Profile, changed_profiles, read_profiles
    from .vault import delete_secret, store_secret

    with opening.reported():
        stored = read_profiles()
        name = profile or stored.current
        known = stored.profiles.get(name)
        if url is None and known is None:
            opening.fail("state the address of the registry: `login URL`")
        origin = origin_of(url or (known.url if known else ""))
        if api_key:
            key = typed_secret(KEY_VARIABLE, "API key")
            with Registry(origin, developer=ApiKey(key)) as registry:
                email = registry.accounts.profile().email
            store_secret(name, opening.API_KEY, key)
        else:
            email = email or (known.email if known else None) or typer.prompt("E-mail", err=True)
            with Registry(origin) as registry:
                tokens = opening.log_in(registry, email, typed_password(), code)
            opening.keep(name, tokens)
            delete_secret(name, opening.API_KEY)
        with changed_profiles() as profiles:
            before = profiles.profiles.get(name)
            agents = before.agents if before and before.url == origin else []
            in_use = before.agent if before and before.url == origin else None
            profiles.profiles[name] = Profile(origin, email, agents, in_use)
            profiles.current = name
        opening.show(
            f"Logged in at {origin} as {email}.",
            {"profile": name, "url": origin, "email": email},
            as_json=as_json,
        )


@app.command(rich_help_panel=USE, epilog=examples("hansa-client logout --profile work"))
def logout(profile: ProfileName = None, *, as_json: AsJson = False) -> None:
    """End the session and delete its tokens from this machine; credentials of agents stay."""
    from hansa_client.errors import Unauthorized

    from . import opening
    from .vault import delete_secret, read_secret

    with opening.as_developer(profile) as (registry, name):
        if read_secret(name, opening.API_KEY) is None:
            try:
                registry.accounts.logout()
            except Unauthorized:
                # The session had ended before.
                typer.echo("The session had ended already.", err=True)
        for secret in (opening.ACCESS, opening.REFRESH, opening.EXPIRY, opening.API_KEY):
            delete_secret(name, secret)
        opening.show("Logged out.", {"profile": name}, as_json=as_json)


@app.command("accept-terms", rich_help_panel=USE, epilog=examples("hansa-client accept-terms 1.1"))
def accept_terms(
    version: Annotated[
        str, typer.Argument(help="Version of the terms that you read, as the page /terms states it.")
    ],
    *,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Accept the present terms of the registry, where they are newer than the accepted ones."""
    from .opening import as_developer, show

    with as_developer(profile) as (registry, _):
        accepted = registry.accounts.accept_terms(version)
        show(f"Version {version} of the terms is accepted.", accepted, as_json=as_json)


@profile_app.command("list", epilog=examples("hansa-client profile list --json"))
def list_profiles(*, as_json: AsJson = False) -> None:
    """List the profiles; the one in use has a star."""
    from .opening import reported, show
    from .profiles import read_profiles

    with reported():
        stored = read_profiles()
        lines = [
            f"{'*' if name == stored.current else ' '} {name}  {one.url}  {one.email or ''}".rstrip()
            for name, one in stored.profiles.items()
        ]
        show("\n".join(lines), stored, as_json=as_json)


@profile_app.command("use", epilog=examples("hansa-client profile use work"))
def use_profile(
    name: Annotated[str, typer.Argument(help="The profile.")], *, as_json: AsJson = False
) -> None:
    """Use a profile from now on."""
    from .opening import reported, show
    from .profiles import changed_profiles

    with reported(), changed_profiles() as profiles:
        profiles.current = profiles.named(name)[0]
        show(f"The profile {name} is in use.", {"profile": name}, as_json=as_json)


def typed_password() -> str:
    """The password of the developer. Raises: NothingStored."""
    return typed_secret(PASSWORD_VARIABLE, "Password")


def typed_secret(variable: str, prompt: str) -> str:
    """The secret in this variable of the environment, or typed at the terminal. Raises: NothingStored."""
    import os

    from .profiles import NothingStored

    given = os.environ.get(variable)
    if not given and not _has_terminal():
        raise NothingStored(f"There is no terminal to read a secret from: set {variable}.")
    typed: str = given or typer.prompt(prompt, hide_input=True, err=True)
    return typed


def _has_terminal() -> bool:
    import os
    import sys

    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return sys.stdin.isatty()
    return True
