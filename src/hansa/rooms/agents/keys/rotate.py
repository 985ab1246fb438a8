"""Give an agent a new signing key; the one before ends at the same moment and stays on record."""

from hansa.foundation.events import AgentKeyRotated
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.jwk import thumbprint
from hansa.rooms import journal

from . import store
from .held_key import HeldKey, KeyHeldBefore


async def rotate_key(tx: Tx, did: str, public_key: bytes) -> HeldKey:
    """Make `public_key` the agent's present one and append AgentKeyRotated. Raises: KeyHeldBefore."""
    agent_id = await store.lock_agent(tx, did)
    if await store.was_held(tx, agent_id, public_key):
        raise KeyHeldBefore
    key = await store.rotate(tx, agent_id, public_key)
    await journal.append(tx, AgentKeyRotated(did=did, number=key.number, kid=thumbprint(public_key)))
    return key
