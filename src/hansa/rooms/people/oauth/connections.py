"""Connections of a person: listed, limited, ended."""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.connections import act
from hansa.foundation.values.errors import Invalid

from . import store
from .ending import end_grant
from .errors import ConnectionUnknown, RaiseNeedsPassword
from .records import ConnectionRow, Limits


class Changes(msgspec.Struct, frozen=True):
    """Changes of a connection; UNSET leaves a member as it is."""

    scopes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    limits: Limits | msgspec.UnsetType = msgspec.UNSET


async def living_connections(
    tx: Tx, developer_id: int, *, limit: int, offset: int
) -> tuple[list[ConnectionRow], int]:
    """A page of the living connections of a person, newest first, and how many there are."""
    return await store.living(tx, developer_id, limit=limit, offset=offset)


async def own_connection(tx: Tx, developer_id: int, connection_id: UUID) -> ConnectionRow:
    """A living connection of the person, locked until the transaction ends. Raises: ConnectionUnknown."""
    found = await store.lock_own(tx, developer_id, connection_id)
    if found is None:
        raise ConnectionUnknown
    return found


async def change_connection(
    tx: Tx, developer_id: int, connection_id: UUID, changes: Changes, *, is_proved: bool
) -> ConnectionRow:
    """Change limits, or take scopes away; more scopes need a new consent.

    Raises: ConnectionUnknown, RaiseNeedsPassword for higher limits unless `is_proved`, Invalid.
    """
    own = await own_connection(tx, developer_id, connection_id)
    limits = own.limits if changes.limits is msgspec.UNSET else changes.limits
    scopes = own.scopes if changes.scopes is msgspec.UNSET else changes.scopes
    if not set(scopes) <= set(own.scopes) or not scopes:
        raise Invalid(
            "A connection may lose scopes, not all, and get no more: connect anew for that.", field="scopes"
        )
    if act(scopes) and limits.raise_over(own.limits) and not is_proved:
        raise RaiseNeedsPassword
    return await store.change(tx, own.id, [one for one in own.scopes if one in scopes], limits)


async def end_connection(tx: Tx, developer_id: int, connection_id: UUID) -> None:
    """End a connection of the person, with its tokens. Raises: ConnectionUnknown."""
    own = await own_connection(tx, developer_id, connection_id)
    await end_grant(tx, own.id, "revoked")
