"""Register a release: a draft, until it is activated."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.rooms.catalogue import Release
from hansa.rooms.operations.callers import lock_agent

from . import store
from .errors import RELEASES_MAX, ReleasesTooMany, VersionTaken
from .records import NewRelease


async def register_release(tx: Tx, caller: Developer | Agent, did: str, new: NewRelease) -> Release:
    """Store a draft. Raises: AgentUnknown, OrgRoleRequired, AgentRevokedForGood, VersionTaken, ReleasesTooMany."""
    await lock_agent(tx, caller, did)
    return await register_release_of(tx, did, new)


async def register_release_of(tx: Tx, did: str, new: NewRelease) -> Release:
    """Store a draft of a locked agent, or of one that is made in this transaction. Raises: VersionTaken, ReleasesTooMany."""
    if await store.count(tx, did) >= RELEASES_MAX:
        raise ReleasesTooMany
    release = await store.insert(tx, did, new)
    if release is None:
        raise VersionTaken(context={"version": new.version})
    return release
