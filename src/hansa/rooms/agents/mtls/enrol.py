"""An agent takes a workload identity, and gives it up.

Take an agent's workload identity away and give it back, as its suspension begins and ends.
"""

from collections.abc import Collection
from typing import Literal

from hansa.foundation.events import AgentMtlsEnrolled, AgentMtlsRevoked
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal
from hansa.rooms.agents import rules as agents_rules
from hansa.rooms.agents import store as agents_store

from . import rules, store
from .errors import IdentityRevoked
from .rules import EndedIdentity, Enrolment


async def enable_mtls(tx: Tx, did: str, settings: Settings) -> Enrolment:
    """Enrol an agent, or renew its enrolment, and append AgentMtlsEnrolled unless it was enrolled already.

    Where SPIRE issues the certificates, the enrolment says only that those of the agent count.

    Raises: AgentSuspended, AgentRevoked, IdentityRevoked.
    """
    agents_rules.require_active(await agents_store.lock_status(tx, did) or "revoked")
    before = await store.lock_enrolment(tx, did)
    if before == "revoked":
        raise IdentityRevoked
    spiffe_id = rules.spiffe_id_of(settings.trust_domain, did)
    lifetime = rules.SPIRE_LIFETIME if settings.uses_workload_api else rules.SVID_LIFETIME
    enrolment = await store.enrol(tx, did, spiffe_id, lifetime)
    if before != "enrolled":
        await journal.append(tx, AgentMtlsEnrolled(did=did, spiffe_id=spiffe_id))
    return enrolment


async def disable_mtls(tx: Tx, did: str) -> Literal["disabled", "not_enrolled"]:
    """Give up an agent's identity, if it has one, and append AgentMtlsRevoked."""
    spiffe_id = await store.end(tx, did, "disabled")
    if spiffe_id is None:
        return "not_enrolled"
    await journal.append(tx, AgentMtlsRevoked(did=did, spiffe_id=spiffe_id))
    return "disabled"


async def enrolment_of(tx: Tx, did: str) -> Enrolment | None:
    """An agent's identity in any status, or None when it never had one."""
    return await store.find(tx, did)


async def ended_identities(tx: Tx) -> list[EndedIdentity]:
    """The identities that no service may trust any more, the longest ended first."""
    return await store.ended(tx)


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
