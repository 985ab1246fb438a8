"""Who an agent token belongs to, asked for every request of an agent."""

from dataclasses import dataclass
from datetime import datetime

from hansa.foundation.plumbing.caller import Agent
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.tokens import TokenKind
from hansa.foundation.words.errors import Unauthorized
from hansa.foundation.words.roles import permissions_of

from . import rules, store


@dataclass(frozen=True)
class KnownAgent(Agent):
    """The agent asking, with what it may read about itself."""

    client_id: str
    name: str
    status: str
    created_at: datetime
    last_active_at: datetime | None
    public_key: bytes


async def check_agent(runtime: Runtime, token: str) -> KnownAgent:
    """The agent of a token, as it stands now: one keyed query, nothing remembered.

    Raises: Unauthorized, AgentSuspended, AgentRevoked.
    """
    claims = runtime.tokens.verify(TokenKind.AGENT, token)
    bearer = await runtime.database.read(lambda tx: store.find_bearer(tx, claims.subject, claims.expires_at))
    if bearer is None or bearer.token_is_expired:
        raise Unauthorized
    rules.require_active(bearer.status)
    return KnownAgent(
        did=bearer.did,
        developer_id=bearer.developer_id,
        roles=bearer.roles,
        permissions=permissions_of(bearer.roles),
        client_id=bearer.client_id,
        name=bearer.name,
        status=bearer.status,
        created_at=bearer.created_at,
        last_active_at=bearer.last_active_at,
        public_key=bearer.public_key,
    )
