"""Right of a caller at the pipelines of an agent: the agent itself, or a person with a right at it."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents


async def require_right(tx: Tx, caller: Developer | Agent, did: str, right: Right) -> None:
    """The caller is the agent, or has the right at it. Raises: AgentUnknown, OrgRoleRequired."""
    if isinstance(caller, Developer):
        await agents.seen_with(tx, caller.id, did, right)
    elif caller.did != did:
        raise agents.AgentUnknown
