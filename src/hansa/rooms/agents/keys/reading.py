"""Read an agent's public keys."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import catalogue
from hansa.rooms.agents.errors import AgentUnknown

from . import store
from .held_key import HeldKey


async def public_key_of(tx: Tx, did: str) -> bytes:
    """Return the present key of an agent in any status: its signatures stay verifiable. Raises: AgentUnknown."""
    key = await store.present_key(tx, did)
    if key is None:
        raise AgentUnknown
    return key


async def keys_of(tx: Tx, did: str, *, limit: int, offset: int) -> tuple[list[HeldKey], int]:
    """A page of all keys an agent ever had, the newest first, and how many there are. Raises: AgentUnknown."""
    total = await store.count_keys(tx, did)
    if total == 0:
        raise AgentUnknown
    return await store.history(tx, did, limit=limit, offset=offset), total


async def newest_keys(tx: Tx, did: str) -> list[catalogue.AgentKey]:
    """The present key of an agent and the one before it, the newest first; none for an unknown DID."""
    newest = await store.history(tx, did, limit=2, offset=0)
    return [catalogue.AgentKey(key.number, key.public_key, key.valid_until) for key in newest]
