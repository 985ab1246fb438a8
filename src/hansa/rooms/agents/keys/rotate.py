"""Give an agent a new signing key; the one before ends at the same moment and stays on record."""

from hansa.foundation.events import AgentKeyRotated
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.entity_tags import require_version
from hansa.foundation.values.jwk import thumbprint
from hansa.rooms import journal

from . import store
from .held_key import HeldKey, KeyHeldBefore
from .reading import public_key_of


async def rotate_key(tx: Tx, did: str, public_key: bytes, if_match: str | None = None) -> HeldKey:
    """Make `public_key` the agent's present one and append AgentKeyRotated.

    With `if_match` the present key must be the one whose thumbprint the caller has read.

    Raises: KeyHeldBefore, PreconditionFailed.
    """
    agent_id = await store.lock_agent(tx, did)
    if if_match is not None:
        require_version(if_match, thumbprint(await public_key_of(tx, did)))
    if await store.was_held(tx, agent_id, public_key):
        raise KeyHeldBefore
    key = await store.rotate(tx, agent_id, public_key)
    await journal.append(tx, AgentKeyRotated(did=did, number=key.number, kid=thumbprint(public_key)))
    return key
