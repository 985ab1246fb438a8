"""Take an agent's workload identity away and give it back, as its suspension begins and ends."""

from collections.abc import Collection
from typing import Literal

from hansa.foundation.events import AgentMtlsEnrolled, AgentMtlsRevoked
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import store


async def revoke_mtls(tx: Tx, did: str) -> Literal["revoked", "not_enrolled"]:
    """Trust no certificate of the agent any more and append AgentMtlsRevoked, if it has an identity to lose."""
    spiffe_id = await store.end(tx, did, "revoked")
    if spiffe_id is None:
        return "not_enrolled"
    await journal.append(tx, AgentMtlsRevoked(did=did, spiffe_id=spiffe_id))
    return "revoked"


async def restore_mtls(tx: Tx, did: str) -> Literal["enrolled", "not_enrolled"]:
    """Give back the identity that `revoke_mtls` took and append AgentMtlsEnrolled; the agent asks for a certificate itself."""
    spiffe_id = await store.restore(tx, did)
    if spiffe_id is None:
        return "not_enrolled"
    await journal.append(tx, AgentMtlsEnrolled(did=did, spiffe_id=spiffe_id))
    return "enrolled"


async def identities_ended(tx: Tx, spiffe_ids: Collection[str]) -> set[str]:
    """Those of these identities of agents whose certificates are trusted no longer."""
    return await store.ended_among(tx, spiffe_ids)
