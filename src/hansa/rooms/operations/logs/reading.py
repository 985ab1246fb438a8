"""Read logs: for the agent itself and those who may read it, administrators or not."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents

from . import store
from .records import Entry, EntryFilter


async def read(tx: Tx, caller: Developer | Agent, did: str, wanted: EntryFilter) -> Sequence[Entry]:
    """A page of the log of an agent, newest first. Raises: AgentUnknown, OrgRoleRequired."""
    await agents.require_caller(tx, caller, did, Right.READ)
    return await store.page(tx, did, wanted)
