"""Acts of the operator on administrators: each is one transaction with its row in the audit log."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from hansa.doors.offline_commands import registry_database, registry_seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.rooms import people

Changed = TypeVar("Changed", int, int | None)


async def create_administrator(
    settings: Settings, *, name: str, email: str, password: str, areas: Sequence[str]
) -> int:
    """Create a verified developer who administers these areas; returns the id.

    Raises: Refused, and the errors of opening the registry.
    """
    administrator = await people.admit_administrator(name=name, email=email, password=password, areas=areas)

    async def create(tx: Tx) -> int:
        developer_id = await people.create_administrator(tx, administrator)
        await record_operator_act(tx, act="administrator.create", subject=f"developer:{developer_id}")
        return developer_id

    async with registry_database(settings) as database:
        return await database.transaction(create)


async def list_administrators(settings: Settings) -> list[people.Administrator]:
    """Every administrator. Raises: the errors of opening the registry."""
    async with registry_database(settings) as database:
        return await database.read(people.list_administrators)


async def reset_administrators_password(settings: Settings, email: str, password: str) -> int:
    """Set the password of an administrator and end the sessions; returns the developer's id.

    Raises: Refused, and the errors of opening the registry.
    """
    seal, new_hash = registry_seal(settings), await people.new_password_hash(password)
    resetting = partial(people.reset_password, seal=seal, email=email, new_hash=new_hash)
    return await _change_administrator(settings, resetting, act="administrator.reset_password")


async def reset_second_factor(settings: Settings, email: str) -> int:
    """Turn two-factor login of an administrator off and end the sessions; returns the developer's id.

    Raises: Refused, and the errors of opening the registry.
    """
    resetting = partial(people.reset_second_factor, seal=registry_seal(settings), email=email)
    return await _change_administrator(settings, resetting, act="administrator.reset_second_factor")


async def set_areas(settings: Settings, email: str, areas: Sequence[str]) -> int | None:
    """Set the areas of an administrator and end the sessions; returns the developer's id, None if nothing changed.

    Raises: Refused, and the errors of opening the registry.
    """
    changing = partial(people.set_areas, email=email, areas=areas)
    return await _change_administrator(
        settings, changing, act="administrator.set_areas", reason=", ".join(areas)
    )


async def remove_administrator(settings: Settings, email: str) -> int:
    """Take every area from an administrator and end the sessions; returns the developer's id.

    Raises: Refused, and the errors of opening the registry.
    """
    removing = partial(people.remove_administrator, email=email)
    return await _change_administrator(settings, removing, act="administrator.remove")


async def _change_administrator(
    settings: Settings, change: Callable[[Tx], Awaitable[Changed]], *, act: str, reason: str | None = None
) -> Changed:
    async def recorded(tx: Tx) -> Changed:
        developer_id = await change(tx)
        if developer_id is not None:
            await record_operator_act(tx, act=act, subject=f"developer:{developer_id}", reason=reason)
        return developer_id

    async with registry_database(settings) as database:
        return await database.transaction(recorded)
