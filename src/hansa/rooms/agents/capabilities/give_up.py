"""The end of capabilities: revoked with all that was drawn from them, or forgotten when long over."""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .errors import CapabilityAbsent


class Revoked(msgspec.Struct, frozen=True):
    """Result of a revocation: `count` capabilities of the tree of `root_id` that were not revoked before."""

    root_id: UUID
    count: int


async def revoke(tx: Tx, capability_id: UUID, did: str) -> Revoked:
    """Revoke a capability and all that was drawn from it: for its holder, and for every issuer of its chain.

    Raises: CapabilityAbsent.
    """
    chain = await store.lock_chain(tx, capability_id)
    if chain is None or did not in {chain.leaf.holder_did, *(link.issuer_did for link in chain.links)}:
        raise CapabilityAbsent
    return Revoked(chain.root.id, await store.revoke(tx, chain.leaf))


async def forget_capabilities(tx: Tx) -> None:
    """Delete trees that ended long ago."""
    await store.delete_past(tx)
