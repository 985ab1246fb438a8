"""Callers that act on an agent: the agent itself, or a developer with a right at it."""

from fastapi import Request
from pydantic import BaseModel

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.rights import Right
from hansa.rooms import agents


async def lock_agent(tx: Tx, caller: Developer | Agent, did: str) -> None:
    """Lock an agent that the caller operates and that has not ended, until the transaction ends.

    Raises: AgentUnknown, OrgRoleRequired, AgentRevokedForGood.
    """
    await agents.require_caller(tx, caller, did, Right.OPERATE)
    if await agents.lock_status(tx, did) == "revoked":
        raise agents.AgentRevokedForGood("This agent is permanently revoked; its code cannot be changed.")


def repeatable(
    caller: Developer | Agent, request: Request, key: str | None, body: BaseModel | None = None
) -> Repeatable | None:
    """The request of this caller as one that may come again; None without a key."""
    if key is None:
        return None
    name = caller.did if isinstance(caller, Agent) else f"developer:{caller.id}"
    sent = body.model_dump(mode="json") if body else None
    return Repeatable(name, f"POST {request.url.path}", key, sent)
