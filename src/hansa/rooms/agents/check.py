"""Agent of an agent token, read at every request of an agent.

An agent once read is kept for requests whose transaction compares the version that it had then (`sql/versions.sql`).
"""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from weakref import WeakKeyDictionary

import msgspec
from fastapi import Depends

from hansa.foundation.plumbing.keys.access_tokens import AccessClaims
from hansa.foundation.plumbing.keys.tokens import Claims, TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import AGENT_REFUSED, Agent, Grant, agent_caller
from hansa.foundation.plumbing.web.problem_docs import refuses_with
from hansa.foundation.values.errors import Forbidden, Unauthorized
from hansa.foundation.values.rights import Right
from hansa.foundation.values.roles import permissions_of

from . import rules, store
from .errors import AgentRevoked, AgentSuspended
from .rights import right_at

# About 10 MB; beyond it those that were read first are read again.
KEPT_MAX = 10_000
ACTOR = "developer:"
"""Prefix of the person who acts as an agent; the id follows."""


class KnownAgent(Agent, frozen=True, kw_only=True):
    """Agent that sends the request, with the members that it may read about itself."""

    client_id: str
    name: str
    status: str
    created_at: datetime
    last_active_at: datetime | None
    actor: str | None
    """Its owner, where that acts as the agent."""


@refuses_with(Unauthorized, AgentSuspended, AgentRevoked)
async def check_agent(runtime: Runtime, token: str) -> KnownAgent:
    """The agent of a token, as it stands now: one keyed query, shared with callers of the same moment. A refusal is noted.

    Raises: Unauthorized, AgentSuspended, AgentRevoked.
    """
    claims = runtime.tokens.verify(TokenKind.AGENT, token)
    try:
        return await _agent_of_claims(runtime, claims)
    except (Unauthorized, Forbidden) as refusal:
        AGENT_REFUSED.of(runtime)(runtime, claims.subject, refusal)
        raise


async def _agent_of_claims(runtime: Runtime, claims: Claims) -> KnownAgent:
    """The agent of a genuine token. Raises: Unauthorized, AgentSuspended, AgentRevoked."""
    bearer = await _bearers_of(runtime.database).find(claims.subject)
    READ_AGENTS.of(runtime).keep(claims.subject, bearer)
    if bearer is None or claims.expires_at <= bearer.read_at.timestamp():
        raise Unauthorized
    if claims.session != rules.session_of(bearer.client_id, bearer.secret_number):
        raise Unauthorized
    rules.require_active(bearer.status)
    await _require_right_of_actor(runtime, bearer, claims.actor)
    roles = tuple(bearer.roles)
    return KnownAgent(
        did=bearer.did,
        developer_id=bearer.developer_id,
        roles=roles,
        permissions=permissions_of(roles),
        is_governed=bearer.is_governed,
        organization_id=bearer.organization_id,
        client_id=bearer.client_id,
        name=bearer.name,
        status=bearer.status,
        created_at=bearer.created_at,
        last_active_at=bearer.last_active_at,
        actor=claims.actor,
    )


class ReadAgent(msgspec.Struct, frozen=True):
    """An active agent without a spend policy as it was read, the session of its tokens, and when that was.

    `read_at` is the database's time, in seconds since 1970; `clock` this process's monotonic one.
    """

    agent: Agent
    session: str
    read_at: float
    clock: float

    @property
    def now(self) -> float:
        """The database's time now, as far as this process knows."""
        return self.read_at + time.monotonic() - self.clock


class ReadAgents:
    """The agents that this process read, by DID, each as it was read last."""

    def __init__(self, most: int = KEPT_MAX) -> None:
        self._most = most
        self._agents: dict[str, ReadAgent] = {}

    def __contains__(self, did: str) -> bool:
        return did in self._agents

    def keep(self, did: str, bearer: store.Bearer | None) -> None:
        """Keep the agent as read now instead of the one read before."""
        self._agents.pop(did, None)
        if bearer is None or bearer.status != "active" or bearer.is_governed:
            return
        if len(self._agents) >= self._most:
            del self._agents[next(iter(self._agents))]
        roles = tuple(bearer.roles)
        self._agents[did] = ReadAgent(
            Agent(
                did,
                bearer.developer_id,
                roles,
                permissions_of(roles),
                False,
                bearer.version,
                bearer.organization_id,
            ),
            rules.session_of(bearer.client_id, bearer.secret_number),
            bearer.read_at.timestamp(),
            time.monotonic(),
        )

    def of(self, claims: Claims) -> Agent | None:
        """The agent of a token that was good when its agent was read, with the version it had then."""
        read = self._agents.get(claims.subject)
        if read is None or claims.actor is not None:
            return None
        if claims.session != read.session or claims.expires_at <= read.now:
            return None
        return read.agent


READ_AGENTS: Slot[ReadAgents] = Slot("agents: as this process read them", build=lambda _: ReadAgents())


def last_read_agent(runtime: Runtime, token: str) -> Agent | None:
    """The agent of a token as this process read it last, with its version; None where it has to be read. Raises: Unauthorized."""
    return READ_AGENTS.of(runtime).of(runtime.tokens.verify(TokenKind.AGENT, token))


async def active_agent(tx: Tx, did: str) -> Agent:
    """The agent with this DID, as its own token would show it. Raises: AgentSuspended, AgentRevoked."""
    bearer = (await store.find_bearers(tx, [did])).get(did)
    rules.require_active(bearer.status if bearer else "revoked")
    assert bearer is not None
    return _agent_of(bearer)


async def acting_under(tx: Tx, did: str, developer_id: int, grant: Grant) -> Agent:
    """The agent of a person under the grant of a connected client: always governed.

    Raises: Unauthorized, where it is not the person's any more, AgentSuspended, AgentRevoked.
    """
    agent = await active_agent(tx, did)
    right = agent.owner.right_of(developer_id)
    if agent.organization_id is not None:
        right = await right_at(tx, developer_id, did)
    if right is None or right < Right.OPERATE:
        raise Unauthorized
    return Agent(
        did,
        developer_id,
        agent.roles,
        agent.permissions,
        is_governed=True,
        organization_id=agent.organization_id,
        grant=grant,
    )


async def agent_of_access(runtime: Runtime, claims: AccessClaims) -> Agent:
    """The agent of an access token that it got with its own secret, as it stands now.

    Raises: Unauthorized, AgentSuspended, AgentRevoked.
    """
    bearer = await _bearers_of(runtime.database).find(claims.subject)
    if bearer is None or claims.session is None or claims.expires_at <= bearer.read_at.timestamp():
        raise Unauthorized
    if claims.session != rules.session_of(bearer.client_id, bearer.secret_number):
        raise Unauthorized
    rules.require_active(bearer.status)
    return _agent_of(bearer)


def _agent_of(bearer: store.Bearer) -> Agent:
    roles = tuple(bearer.roles)
    return Agent(
        bearer.did,
        bearer.developer_id,
        roles,
        permissions_of(roles),
        bearer.is_governed,
        organization_id=bearer.organization_id,
    )


async def _require_right_of_actor(runtime: Runtime, bearer: store.Bearer, actor: str | None) -> None:
    """A person who acts as an agent of an organization may do so at this request. Raises: Unauthorized."""
    if actor is None or bearer.organization_id is None:
        return
    developer_id = int(actor.removeprefix(ACTOR))
    right = await runtime.database.query(lambda tx: right_at(tx, developer_id, bearer.did))
    if right is None or right < Right.OPERATE:
        raise Unauthorized


# The agent that `check_agent` found: it knows more than other rooms ask for.
CurrentKnownAgent = Annotated[KnownAgent, Depends(agent_caller)]

_gatherings: WeakKeyDictionary[Database, BatchLoader[str, store.Bearer]] = WeakKeyDictionary()


def _bearers_of(database: Database) -> BatchLoader[str, store.Bearer]:
    """The lookups of agents that gather in this process."""
    gathering = _gatherings.get(database)
    if gathering is None:

        async def load(dids: Sequence[str]) -> dict[str, store.Bearer]:
            return await database.query(lambda tx: store.find_bearers(tx, dids))

        gathering = _gatherings[database] = BatchLoader(load)
    return gathering
