"""Activate a release: it alone is active, the one before is retired. A retired one may become active again."""

from uuid import UUID

import msgspec

from hansa.foundation.events import AgentVersionActivated
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_object
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.rooms import journal
from hansa.rooms.catalogue import Release
from hansa.rooms.operations.callers import lock_agent

from . import store
from .errors import ReleaseUnknown

LEAF = "agent_version"


async def activate_release(tx: Tx, caller: Developer | Agent, did: str, release_id: UUID) -> Release:
    """Activate a release; one that is active stays so, without another event.

    Raises: AgentUnknown, OrgRoleRequired, AgentRevokedForGood, ReleaseUnknown.
    """
    await lock_agent(tx, caller, did)
    return await make_active(tx, did, release_id)


async def make_active(tx: Tx, did: str, release_id: UUID) -> Release:
    """Activate a release of a locked agent. Raises: ReleaseUnknown."""
    found = await store.find(tx, did, release_id)
    if found is None:
        raise ReleaseUnknown
    activated = await store.activate(tx, did, release_id)
    if activated is None:
        return found
    event = AgentVersionActivated(
        did=did,
        version_id=str(release_id),
        version=activated.version,
        commit_hash=activated.commit_hash,
    )
    await record_object(tx, LEAF, str(release_id), {"kind": LEAF, **msgspec.to_builtins(event)})
    await journal.append(tx, event)
    return activated
