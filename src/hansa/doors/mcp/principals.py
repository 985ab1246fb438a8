"""Callers of the tools, by credential: an agent, or a person who names an own agent for each act.

- A missing, bad or expired credential, or one of another kind, is a 401.
- A suspended caller is known, and may use the public tools alone.
- An API key acts with every scope alone; a narrow one reads.
"""

from contextlib import suppress
from uuid import UUID

import msgspec
from fastapi import Request

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
from hansa.rooms import agents

READ = "mcp:read"
WALLET_READ, WALLET_PAY = "wallet:read", "wallet:pay"
CONTRACTS, DISPUTES = "contracts:act", "disputes:act"
SCOPES = frozenset({READ, WALLET_READ, WALLET_PAY, CONTRACTS, DISPUTES})


class AgentMissing(Invalid):
    """The caller is a person who has not named the acting agent."""

    code = "ACTING_AGENT_MISSING"
    sentence = "This tool acts as an agent: name one of your own agents in `as`."
    remedy = "Call list_my_agents, then repeat the call with the DID of the acting agent in `as`."


class PersonMissing(Forbidden):
    """The caller is an agent, and the tool reads the account of a person."""

    code = "PERSON_REQUIRED"
    sentence = "This tool reads the account of a person; the credential is that of an agent."


def challenge(parameters: dict[str, str]) -> dict[str, str]:
    """The field that says which credential is asked for (RFC 6750, RFC 9728)."""
    stated = ", ".join(f'{name}="{value}"' for name, value in parameters.items())
    return {"WWW-Authenticate": f"Bearer {stated}"}


class Principal(msgspec.Struct, frozen=True):
    """Caller of tools. `name` identifies it in limits and intents; `barred` is the refusal of a suspended one.

    `client` and `grant_id` where it is a client that a person has connected.
    """

    name: str
    scopes: frozenset[str]
    developer_id: int
    developer: Developer | None = None
    agent: Agent | None = None
    barred: Refused | None = None
    client: str | None = None
    grant_id: UUID | None = None

    def require_person(self) -> Developer:
        """Raises: PersonMissing."""
        if self.developer is None:
            raise PersonMissing
        return self.developer

    async def acting(self, runtime: Runtime, named: str | None) -> Agent:
        """The acting agent: an agent itself, or an own one that a person names.

        Raises: AgentMissing, AgentUnknown, AgentSuspended, AgentRevoked.
        """
        if self.agent is not None:
            if named not in {None, self.agent.did}:
                raise agents.AgentUnknown
            return self.agent
        if named is None:
            raise AgentMissing
        developer_id = self.developer_id

        async def own(tx: Tx) -> Agent:
            await agents.own_agent(tx, developer_id, named)
            return await agents.active_agent(tx, named)

        return await runtime.database.query(own)


async def principal_of(request: Request, runtime: Runtime) -> Principal:
    """The caller by the bearer of the request. Raises: Unauthorized."""
    token = bearer_token(request)
    with suppress(Unauthorized):
        return await _agent_of(runtime, token)
    return _person(await DEVELOPER_CHECK.of(runtime)(runtime, token))


async def _agent_of(runtime: Runtime, token: str) -> Principal:
    try:
        agent = await AGENT_CHECK.of(runtime)(runtime, token)
    except agents.AgentSuspended as barred:
        did = runtime.tokens.verify(TokenKind.AGENT, token).subject
        owner = await runtime.database.query(lambda tx: agents.owner_of(tx, did))
        assert owner is not None, "a suspended agent has an owner"
        return Principal(did, SCOPES, owner, barred=barred)
    except Forbidden:
        raise Unauthorized from None
    return Principal(agent.did, SCOPES, agent.developer_id, agent=agent)


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
