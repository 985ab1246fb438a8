"""Callers that act on an agent: the agent itself, or a developer with a right at it."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents


async def lock_agent(tx: Tx, caller: Developer | Agent, did: str) -> None:
    """Lock an agent that the caller operates and that has not ended, until the transaction ends.

    Raises: AgentUnknown, OrgRoleRequired, AgentRevokedForGood.
    """
    await agents.require_caller(tx, caller, did, Right.OPERATE)
    if await agents.lock_status(tx, did) == "revoked":
        raise agents.AgentRevokedForGood("This agent is permanently revoked; its code cannot be changed.")
