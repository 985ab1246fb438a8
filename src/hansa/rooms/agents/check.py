"""Who an agent token belongs to, asked for every request of an agent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import Depends

from hansa.foundation.plumbing.caller import Agent, agent_caller
from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.declared_refusals import refuses_with
from hansa.foundation.plumbing.gather import Gathering
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.tokens import TokenKind
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.roles import permissions_of

from . import rules, store
from .errors import AgentRevoked, AgentSuspended


class KnownAgent(Agent, frozen=True):
    """The agent asking, with what it may read about itself."""

    client_id: str
    name: str
    status: str
    created_at: datetime
    last_active_at: datetime | None
    actor: str | None
    """Its owner, where that acts as the agent."""


@refuses_with(Unauthorized, AgentSuspended, AgentRevoked)
async def check_agent(runtime: Runtime, token: str) -> KnownAgent:
    """The agent of a token, as it stands now: one keyed query, shared with callers of the same moment.

    Raises: Unauthorized, AgentSuspended, AgentRevoked.
    """
    claims = runtime.tokens.verify(TokenKind.AGENT, token)
    bearer = await _bearers_of(runtime.database).find(claims.subject)
    if bearer is None or claims.expires_at <= bearer.read_at.timestamp():
        raise Unauthorized
    if claims.session != rules.session_of(bearer.client_id, bearer.secret_number):
        raise Unauthorized
    rules.require_active(bearer.status)
    roles = tuple(bearer.roles)
    return KnownAgent(
        did=bearer.did,
        developer_id=bearer.developer_id,
        roles=roles,
        permissions=permissions_of(roles),
        is_governed=bearer.is_governed,
        client_id=bearer.client_id,
        name=bearer.name,
        status=bearer.status,
        created_at=bearer.created_at,
        last_active_at=bearer.last_active_at,
        actor=claims.actor,
    )


async def active_agent(tx: Tx, did: str) -> Agent:
    """The agent with this DID, as its own token would show it. Raises: AgentSuspended, AgentRevoked."""
    bearer = (await store.find_bearers(tx, [did])).get(did)
    rules.require_active(bearer.status if bearer else "revoked")
    assert bearer is not None
    roles = tuple(bearer.roles)
    return Agent(bearer.did, bearer.developer_id, roles, permissions_of(roles), bearer.is_governed)


# The agent that `check_agent` found: it knows more than other rooms ask for.
CurrentKnownAgent = Annotated[KnownAgent, Depends(agent_caller)]

_gatherings: WeakKeyDictionary[Database, Gathering[str, store.Bearer]] = WeakKeyDictionary()


def _bearers_of(database: Database) -> Gathering[str, store.Bearer]:
    """The lookups of agents that gather in this process."""
    gathering = _gatherings.get(database)
    if gathering is None:

        async def load(dids: Sequence[str]) -> dict[str, store.Bearer]:
            return await database.look(lambda tx: store.find_bearers(tx, dids))

        gathering = _gatherings[database] = Gathering(load)
    return gathering
