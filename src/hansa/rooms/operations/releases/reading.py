"""Read releases, which are public."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue import Release

from . import store
from .errors import ReleaseUnknown


async def releases_of(tx: Tx, did: str, before: int | None, limit: int) -> list[Release]:
    """A page of the releases of an agent, the newest first."""
    return await store.page(tx, did, before, limit)


async def active_release_of(tx: Tx, did: str) -> Release | None:
    """The active release of an agent; None where it has none."""
    return await store.active(tx, did)


async def lock_release(tx: Tx, did: str, release_id: UUID) -> Release:
    """A release of an agent, locked until the transaction ends. Raises: ReleaseUnknown."""
    release = await store.find(tx, did, release_id, lock=True)
    if release is None:
        raise ReleaseUnknown
    return release
