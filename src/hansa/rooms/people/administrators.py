"""Administrators, made by the operator of the registry.

The account is open at once: its address counts as verified. The person has yet to accept the terms, and has no recovery
keys, because there is nobody to show them to.
"""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import ValidationError

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.invalid_member import without_type
from hansa.foundation.values.errors import MemberInvalid

from . import register, rules, store
from .schemas import RegistrationIn


async def admit_administrator(
    *, name: str, email: str, password: str, areas: Sequence[str]
) -> store.NewDeveloper:
    """The administrator to create, by the rules of registration; needs no transaction.

    Raises: MemberInvalid, PasswordRefused.
    """
    try:
        request = RegistrationIn(name=name, email=email, password=password, age_confirmed=False)
    except ValidationError as failure:
        # Only where and what: the text of the whole error holds the password.
        first = failure.errors()[0]
        member = first["loc"][0]
        raise MemberInvalid(f"{member}: {without_type(first['msg'])}", field=str(member)) from None
    rules.require_acceptable_password(password)
    developer = await register.new_developer(request, is_verified=True, tos_version=None)
    return replace(developer, is_admin=True, areas=tuple(areas))


async def has_administrator(tx: Tx) -> bool:
    """Return whether any account administers the registry."""
    return await store.has_administrator(tx)


async def create_administrator(tx: Tx, administrator: store.NewDeveloper) -> int:
    """Open the account and return the developer's id; an existing account is never promoted.

    Raises: EmailRegistered, DisplayNameTaken.
    """
    return await register.open_account(tx, administrator)
