"""Read an agent's public keys.

Give an agent a new signing key; the one before ends at the same moment and stays on record.
"""

from collections.abc import Sequence

from hansa.foundation.events import AgentKeyRotated
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.entity_tags import require_version
from hansa.foundation.values.jwk import thumbprint
from hansa.rooms import catalogue, journal
from hansa.rooms.agents.errors import AgentUnknown

from . import store
from .held_key import HeldKey, KeyHeldBefore


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


async def keys_of_each(tx: Tx, dids: Sequence[str], limit: int) -> dict[str, list[HeldKey]]:
    """The newest keys of each of these agents, at most `limit` of each, the newest first; none for an unknown DID."""
    return await store.histories(tx, dids, limit)


async def newest_keys(tx: Tx, did: str) -> list[catalogue.AgentKey]:
    """The present key of an agent and the one before it, the newest first; none for an unknown DID."""
    newest = await store.history(tx, did, limit=2, offset=0)
    return [catalogue.AgentKey(key.number, key.public_key, key.valid_from, key.valid_until) for key in newest]


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
