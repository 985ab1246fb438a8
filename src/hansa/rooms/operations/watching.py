"""Right to an agent's logs and metrics: the agent's own, and that of developers by their role; of no administrator."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents


async def require_watching(tx: Tx, caller: Developer | Agent, did: str, right: Right) -> None:
    """The caller is the agent, or has the right at it. Raises: AgentUnknown, OrgRoleRequired."""
    if isinstance(caller, Developer):
        await agents.seen_with(tx, caller.id, did, right)
    elif caller.did != did:
        raise agents.AgentUnknown
