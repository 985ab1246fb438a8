"""Callers of the tools, by credential: an agent, a client that a person has connected, or a person who names an own agent for each act.

- A missing, bad or expired credential, or one of another kind, is a 401.
- A suspended caller is known, and may use the public tools alone.
- An API key acts with every scope alone; a narrow one reads.
"""

from contextlib import suppress

import msgspec
from fastapi import Request

from hansa.foundation.plumbing.keys.access_tokens import verify_access
from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import (
    AGENT_CHECK,
    DEVELOPER_CHECK,
    Agent,
    Developer,
    bearer_token,
)
from hansa.foundation.values.errors import (
    DeveloperSuspended,
    Forbidden,
    Invalid,
    Refused,
    Unauthorized,
)
from hansa.foundation.values.scopes import EVERY_SCOPE
from hansa.rooms import agents, people

READ = "mcp:read"
WALLET_READ, WALLET_PAY = "wallet:read", "wallet:pay"
CONTRACTS, DISPUTES, PIPELINES, SUPPORT = "contracts:act", "disputes:act", "pipelines:run", "support:write"
SCOPES = frozenset({READ, WALLET_READ, WALLET_PAY, CONTRACTS, DISPUTES, PIPELINES, SUPPORT})


class AgentMissing(Invalid):
    """The caller is a person who has not named the acting agent."""

    code = "ACTING_AGENT_MISSING"
    sentence = "This tool acts as an agent: name one of your own agents in `as`."
    remedy = "Call list_my_agents, then repeat the call with the DID of the acting agent in `as`."


class ConnectedWithoutAgent(Forbidden):
    """The person has connected the client without an agent, and the tool acts as one."""

    code = "CONNECTED_WITHOUT_AGENT"
    sentence = "This client was connected without an agent; the tool acts as one."
    remedy = "Connect the client again, and choose an agent."


class PersonMissing(Forbidden):
    """The caller is an agent, and the tool reads the account of a person."""

    code = "PERSON_REQUIRED"
    sentence = "This tool reads the account of a person; the credential is that of an agent."


class InsufficientScope(Forbidden):
    """The credential does not have the scope of this tool."""

    code = "INSUFFICIENT_SCOPE"
    sentence = "The credential does not have the scope of this tool."
    remedy = "Connect again, and grant the scopes that the WWW-Authenticate header or `context` names."


def challenge(parameters: dict[str, str]) -> dict[str, str]:
    """The field that says which credential is asked for (RFC 6750, RFC 9728)."""
    stated = ", ".join(f'{name}="{value}"' for name, value in parameters.items())
    return {"WWW-Authenticate": f"Bearer {stated}"}


class Principal(msgspec.Struct, frozen=True):
    """Caller of tools. `name` identifies it in limits and intents; `barred` is the refusal of a suspended one.

    A connection acts as the agent of its grant, if that has one.
    """

    name: str
    scopes: frozenset[str]
    developer_id: int
    developer: Developer | None = None
    agent: Agent | None = None
    barred: Refused | None = None
    connection: people.Connection | None = None

    @property
    def did(self) -> str | None:
        """The agent that the caller is, or is bound to."""
        if self.agent is not None:
            return self.agent.did
        return self.connection.agent_did if self.connection else None

    def require_person(self) -> Developer:
        """Raises: PersonMissing."""
        if self.developer is None:
            raise PersonMissing
        return self.developer

    async def acting(self, runtime: Runtime, named: str | None) -> Agent:
        """The acting agent: an agent itself, or an own one that a person names.

        Raises: AgentMissing, ConnectedWithoutAgent, AgentUnknown, Unauthorized, AgentSuspended, AgentRevoked.
        """
        own_did = self.did
        if own_did is not None and named not in {None, own_did}:
            raise agents.AgentUnknown
        if self.agent is not None:
            return self.agent
        did, developer_id, connection = named or own_did, self.developer_id, self.connection
        if connection is not None and own_did is None:
            raise ConnectedWithoutAgent
        if did is None:
            raise AgentMissing

        async def own(tx: Tx) -> Agent:
            if connection is not None:
                return await agents.acting_under(tx, did, developer_id, connection.grant)
            await agents.own_agent(tx, developer_id, did)
            return await agents.active_agent(tx, did)

        return await runtime.database.query(own)


async def principal_of(request: Request, runtime: Runtime) -> Principal:
    """The caller by the bearer of the request. Raises: Unauthorized."""
    token = bearer_token(request)
    with suppress(Unauthorized):
        return await _agent_of(runtime, token)
    with suppress(Unauthorized):
        return await _connected(runtime, token)
    return _person(await DEVELOPER_CHECK.of(runtime)(runtime, token))


async def _agent_of(runtime: Runtime, token: str) -> Principal:
    try:
        agent = await AGENT_CHECK.of(runtime)(runtime, token)
    except agents.AgentSuspended as barred:
        did = runtime.tokens.verify(TokenKind.AGENT, token).subject
        return await _barred(runtime, did, SCOPES, barred)
    except Forbidden:
        raise Unauthorized from None
    return Principal(agent.did, SCOPES, agent.developer_id, agent=agent)


async def _connected(runtime: Runtime, token: str) -> Principal:
    """The holder of an access token: a connected client, or an agent that got it with its own secret. Raises: Unauthorized."""
    claims = verify_access(runtime.tokens, runtime.settings.base_url, token)
    if claims.grant_id is not None:
        connection = await people.connection_of(runtime, claims)
        return Principal(
            connection.actor,
            connection.scopes & SCOPES,
            connection.developer_id,
            developer=connection.developer,
            barred=DeveloperSuspended() if connection.is_suspended else None,
            connection=connection,
        )
    scopes = claims.scopes & SCOPES
    try:
        agent = await agents.agent_of_access(runtime, claims)
    except agents.AgentSuspended as barred:
        return await _barred(runtime, claims.subject, scopes, barred)
    except Forbidden:
        raise Unauthorized from None
    return Principal(agent.did, scopes, agent.developer_id, agent=agent)


async def _barred(runtime: Runtime, did: str, scopes: frozenset[str], refusal: Refused) -> Principal:
    """A suspended agent."""
    owner = await runtime.database.query(lambda tx: agents.owner_of(tx, did))
    assert owner is not None, "a suspended agent has an owner"
    return Principal(did, scopes, owner, barred=refusal)


def _person(developer: Developer) -> Principal:
    may_act = EVERY_SCOPE in developer.scopes
    barred = DeveloperSuspended() if developer.is_suspended else None
    return Principal(
        f"developer:{developer.id}",
        SCOPES if may_act else frozenset({READ}),
        developer.id,
        developer=developer,
        barred=barred,
    )
