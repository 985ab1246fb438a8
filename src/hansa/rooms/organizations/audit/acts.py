"""Record an act in the transaction that carries it out: no act without its row, no row without its act."""

from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.canonical import digest
from hansa.rooms.organizations.records import Actor

from . import store


async def record(
    tx: Tx, organization_id: UUID, actor: Developer | Actor, act: str, target: str, **members: Any
) -> None:
    """Record an act, with a digest of its members."""
    hashed = digest({"act": act, "organization_id": str(organization_id), "target": target, **members})
    await store.insert(tx, organization_id, actor.id, actor.session, act, target, hashed)
