"""Read the registry's keys."""

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .records import RegistryKey


async def published_keys(tx: Tx) -> list[RegistryKey]:
    """The present key and those in their grace, the newest first."""
    return await store.keys_in_grace(tx)


async def all_keys(tx: Tx) -> list[RegistryKey]:
    """Every key there ever was, the newest first."""
    return await store.history(tx)
