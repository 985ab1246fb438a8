"""Administrators: made, changed and removed by the operator of the registry.

- A new account is open at once: its address counts as verified. The person has yet to accept the terms, and has no recovery
  keys, because there is nobody to show them to.
- A change ends the sessions of the person.
- An area keeps an administrator who is not suspended: the last one is not removed from it.
- No existing account is made an administrator: the operator changes those that are.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pydantic import ValidationError

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.invalid_member import without_type
from hansa.foundation.values.errors import MemberInvalid

from . import administrator_store, passwords, recovery, register, rules, second_factors, sessions, store
from .administrator_store import LockedAdministrator
from .errors import AdministratorUnknown, LastAdministrator
from .schemas import RegistrationIn


async def admit_administrator(
    *, name: str, email: str, password: str, areas: Sequence[str]
) -> store.NewDeveloper:
    """The administrator to create, by the rules of registration; needs no transaction.

    Raises: MemberInvalid, PasswordRefused.
    """
    with _member_named():
        request = RegistrationIn(name=name, email=email, password=password, age_confirmed=False)
    rules.require_acceptable_password(password)
    developer = await register.new_developer(request, is_verified=True, tos_version=None)
    return replace(developer, is_admin=True, areas=tuple(areas))


@contextmanager
def _member_named() -> Iterator[None]:
    """Turn a form error in this block into MemberInvalid."""
    try:
        yield
    except ValidationError as failure:
        # Only where and what: the text of the whole error holds the password.
        first = failure.errors()[0]
        member = str(first["loc"][0]).removeprefix("new_")
        raise MemberInvalid(f"{member}: {without_type(first['msg'])}", field=member) from None


async def has_administrator(tx: Tx) -> bool:
    """Return whether any account administers the registry."""
    return await store.has_administrator(tx)


async def create_administrator(tx: Tx, administrator: store.NewDeveloper) -> int:
    """Open the account and return the developer's id; an existing account is never promoted.

    Raises: EmailRegistered, DisplayNameTaken.
    """
    return await register.open_account(tx, administrator)


async def new_password_hash(password: str) -> str:
    """The hash of a password that is acceptable; needs no transaction.

    Raises: MemberInvalid, PasswordRefused, TooManyPasswords.
    """
    with _member_named():
        recovery.SetPasswordIn(new_password=password)
    rules.require_acceptable_password(password)
    return await passwords.hashed(password)


async def reset_password(tx: Tx, seal: Seal, email: str, new_hash: str) -> int:
    """Set the password of an administrator; returns the developer's id. Raises: AdministratorUnknown."""
    account = await _lock_administrator(tx, email)
    await recovery.reset_password(tx, seal, account.id, new_hash)
    return account.id


async def reset_second_factor(tx: Tx, seal: Seal, email: str) -> int:
    """Turn two-factor login of an administrator off and remove its phones; returns the developer's id.

    Raises: AdministratorUnknown, TwoFactorOff.
    """
    account = await _lock_administrator(tx, email)
    await second_factors.turn_off(tx, seal, account.id)
    await sessions.end_all(tx, account.id)
    return account.id


async def set_areas(tx: Tx, email: str, areas: Sequence[str]) -> int | None:
    """Let an administrator administer these areas and no other; returns the developer's id, None if nothing changed.

    Raises: AdministratorUnknown, LastAdministrator.
    """
    await administrator_store.lock_areas(tx)
    account = await _lock_administrator(tx, email)
    if set(areas) == set(account.areas):
        return None
    await _leave(tx, account, [area for area in account.areas if area not in areas])
    await store.write_areas(tx, account.id, areas)
    await sessions.end_all(tx, account.id)
    return account.id


async def remove_administrator(tx: Tx, email: str) -> int:
    """Take every area from an administrator, whose account stays; returns the developer's id.

    Raises: AdministratorUnknown, LastAdministrator.
    """
    await administrator_store.lock_areas(tx)
    account = await _lock_administrator(tx, email)
    await _leave(tx, account, account.areas)
    await administrator_store.remove(tx, account.id)
    await sessions.end_all(tx, account.id)
    return account.id


async def _lock_administrator(tx: Tx, email: str) -> LockedAdministrator:
    account = await administrator_store.lock_administrator(tx, email)
    if account is None:
        raise AdministratorUnknown(
            "No administrator has this e-mail address; `hansa admin list` lists all of them."
        )
    return account


async def _leave(tx: Tx, account: LockedAdministrator, areas: Sequence[str]) -> None:
    if last_in := await administrator_store.areas_without_others(tx, account.id, areas):
        raise LastAdministrator(
            f"Nobody else administers {', '.join(last_in)}; give the area to another administrator first."
        )
