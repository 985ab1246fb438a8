"""Read an agent's public key."""

from hansa.foundation.plumbing.database import Tx

from . import store
from .errors import AgentUnknown


async def public_key_of(tx: Tx, did: str) -> bytes:
    """The present key of an agent in any status: what it signed stays verifiable. Raises: AgentUnknown."""
    key = await store.find_public_key(tx, did)
    if key is None:
        raise AgentUnknown
    return key
