"""Client that a command works with, from the stored profile; and the end of a command."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
import typer

from hansa_client.amounts import amount_text
from hansa_client.calls import new_key
from hansa_client.credentials import AgentCredentials, ApiKey, DeveloperTokens
from hansa_client.errors import (
    ApprovalNeeded,
    Forbidden,
    HansaError,
    OutcomeUnknown,
    Refusal,
    SecondFactorNeeded,
)
from hansa_client.synchronous import Registry
from hansa_client.synchronous.treasury import Treasury

from .options import prints_json
from .printing import one_line, printable
from .profiles import NothingStored, Profile, locked, read_profiles
from .vault import read_secret, store_secret

T = TypeVar("T")

FAILED = 1
INTERRUPTED = 130
ACCESS, REFRESH, EXPIRY, API_KEY = "access token", "refresh token", "expiry", "API key"


@contextmanager
def reported() -> Iterator[None]:
    """End the command with one line where it fails."""
    try:
        yield
    except Refusal as refusal:
        fail(str(refusal), code=refusal.code, status=refusal.status)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (HansaError, ValueError, TypeError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def as_anyone(profile: str | None, url: str | None = None) -> Iterator[Registry]:
    """A client without a credential, of the registry at `url` or of the profile."""
    with reported(), Registry(url or read_profiles().named(profile)[1].url) as registry:
        yield registry


@contextmanager
def as_developer(profile: str | None) -> Iterator[tuple[Registry, str]]:
    """The developer who is logged in, and the name of the profile."""
    with reported(), locked():
        # Two commands that refreshed the same pair would end the session.
        name, stored = read_profiles().named(profile)
        with Registry(
            stored.url, developer=_developer(name, stored), keep=lambda new: keep(name, new)
        ) as registry:
            yield registry, name


@contextmanager
def as_agent(profile: str | None, agent: str | None) -> Iterator[Registry]:
    """A stored agent."""
    with reported():
        name, stored = read_profiles().named(profile)
        with Registry(stored.url, agent=agent_credentials(name, stored, agent)) as registry:
            yield registry


@contextmanager
def under_key(key: str) -> Iterator[None]:
    """End the command with the key to repeat it with, where its outcome is not known or the owner has to approve first."""
    again = f"Run the same command with --key {key}: it takes effect once."
    try:
        yield
    except OutcomeUnknown as unknown:
        fail(f"{unknown} {again}", key=key)
    except KeyboardInterrupt:
        fail(f"Interrupted: the request may have taken effect. {again}", exit_code=INTERRUPTED, key=key)
    except ApprovalNeeded as needed:
        fail(f"{needed} Then run the same command with --key {key}.", key=key)
    except Forbidden as refused:
        approval_id = refused.context.get("approval_id")
        if approval_id is None:
            raise
        sentence = f"{refused} Once it is approved, run the same command with --approval-id {approval_id}."
        fail(sentence, code=refused.code, status=refused.status, approval_id=approval_id)


@contextmanager
def of_party(
    profile: str | None, agent: str | None, organization: str | None
) -> Iterator[Registry | Treasury]:
    """A stored agent, or the treasury of an organization of the developer: its contracts and disputes."""
    if organization is None:
        with as_agent(profile, agent) as registry:
            yield registry
        return
    with as_developer(profile) as (registry, _):
        if agent is not None:
            raise ValueError("state either --agent or --org")
        yield registry.treasury(organization)


@contextmanager
def acting_for(
    profile: str | None, agent: str | None, organization: str | None, key: str | None
) -> Iterator[tuple[Registry | Treasury, str]]:
    """Yield the same, and the key of an act that is done once: the given one, or a new one."""
    with of_party(profile, agent, organization) as party:
        key = new_key() if key is None else key
        with under_key(key):
            yield party, key


@contextmanager
def acting(profile: str | None, agent: str | None, key: str | None) -> Iterator[tuple[Registry, str]]:
    """Yield a stored agent, and such a key."""
    with as_agent(profile, agent) as registry:
        key = new_key() if key is None else key
        with under_key(key):
            yield registry, key


def agent_credentials(name: str, profile: Profile, agent: str | None) -> AgentCredentials:
    """The credentials of a stored agent. Raises: NothingStored."""
    chosen = profile.chosen(agent)
    secret = read_secret(name, secret_of(chosen.did))
    if secret is None:
        raise NothingStored(f"The secret of the agent {chosen.did} is not stored on this machine.")
    return AgentCredentials(chosen.client_id, secret)


def keep(name: str, tokens: DeveloperTokens) -> None:
    """Store a new pair of tokens; the lock is held by the command."""
    store_secret(name, ACCESS, tokens.access_token)
    store_secret(name, REFRESH, tokens.refresh_token)
    store_secret(name, EXPIRY, tokens.expires_at.isoformat())


def log_in(registry: Registry, email: str, password: str, code: str | None) -> DeveloperTokens:
    """Log in, with a second factor where the account has one. Raises: Unauthorized."""
    try:
        return registry.accounts.login(email, password, code=code)
    except SecondFactorNeeded as half:
        typed: str = typer.prompt("Two-factor code", err=True)
        return registry.accounts.complete_login(half.partial_token, typed)


def require_new(file: str) -> None:
    """Before a secret is made that is returned once: there is no such file. Raises: NothingStored."""
    if Path(file).exists():
        raise NothingStored(f"{file} cannot be written: it exists")


def write_new(file: str, content: str) -> None:
    """Write a file that is readable for this user alone. Raises: NothingStored when there is one."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise NothingStored(f"{file} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "w") as stream:
        stream.write(content)


def read_json_file(file: Path, shape: type[T]) -> T:
    """A JSON document of the user. Raises: NothingStored, OSError."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NothingStored(f"{file} does not hold what is expected: {error}") from None


def amount_of(stated: str) -> Decimal:
    """An amount that was typed. Raises: ValueError."""
    return Decimal(amount_text(stated))


def milestone_of(stated: str) -> tuple[str, Decimal]:
    """Title and amount of a milestone that was typed. Raises: ValueError."""
    title, separator, amount = stated.rpartition("=")
    if not separator or not title:
        raise ValueError(f"a milestone is TITLE=AMOUNT, such as Draft=4, got {stated!r}")
    return title, amount_of(amount)


def key_of(did: str) -> str:
    """Under which name the private key of an agent is stored."""
    return f"private key of {did}"


def secret_of(did: str) -> str:
    """Under which name the secret of an agent is stored."""
    return f"secret of {did}"


def show(sentence: str, members: Any, *, as_json: bool) -> None:
    """Print the sentence, or the members as JSON."""
    typer.echo(
        msgspec.json.format(msgspec.json.encode(members), indent=2) if as_json else printable(sentence)
    )


def fail(sentence: str, *, exit_code: int = FAILED, **members: Any) -> NoReturn:
    """End the command with one line on standard error; with --json it is an object of `error`, the sentence, and the members."""
    if prints_json.get():
        typer.echo(msgspec.json.encode({"error": sentence, **members}), err=True)
    else:
        typer.echo(f"{Path(sys.argv[0]).name}: {one_line(sentence)}", err=True)
    raise typer.Exit(exit_code)


def _developer(name: str, profile: Profile) -> ApiKey | DeveloperTokens:
    key = read_secret(name, API_KEY)
    if key is not None:
        return ApiKey(key)
    access, refresh = read_secret(name, ACCESS), read_secret(name, REFRESH)
    expires_at = read_secret(name, EXPIRY)
    if access is None or refresh is None or expires_at is None:
        raise NothingStored(f"No developer is logged in at {profile.url}. Log in with `login`.")
    return DeveloperTokens(access, refresh, datetime.fromisoformat(expires_at))
