"""Let an owner act as its agent for a while."""

from datetime import datetime, timedelta

import msgspec

from hansa.foundation.events import AgentActTokenIssued
from hansa.foundation.plumbing.keys.tokens import TokenIssuer, TokenKind
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.plumbing.web.limits import Limit
from hansa.foundation.values.rights import Right
from hansa.rooms import journal
from hansa.rooms.agents.check import ACTOR
from hansa.rooms.agents.rights import held_with
from hansa.rooms.agents.rules import require_active, session_of
from hansa.rooms.agents.store import find_secret

LIFETIME = timedelta(minutes=15)
ACT_TOKENS = Limit("act-token", 60)


class Acting(msgspec.Struct, frozen=True):
    """An own agent that is active, and when that was so, by the database's clock; `actor` names the owner."""

    session: str
    actor: str
    at: datetime


async def act_as(tx: Tx, developer: Developer, did: str) -> Acting:
    """Append the event that the owner acts as the agent from now on.

    Raises: AgentUnknown, NotTheOwner, AgentSuspended, AgentRevoked.
    """
    await held_with(tx, developer.id, did, Right.OPERATE)
    secret = await find_secret(tx, did)
    require_active(secret.status)
    actor = f"{ACTOR}{developer.id}"
    expires_at = secret.read_at + LIFETIME
    await journal.append(tx, AgentActTokenIssued(did=did, actor=actor, expires_at=expires_at.isoformat()))
    return Acting(session_of(secret.client_id, secret.number), actor, secret.read_at)


async def act_token(
    database: Database, tokens: TokenIssuer, developer: Developer, did: str
) -> tuple[str, Acting]:
    """A token with which the owner acts as the agent; the journal records it. Raises: as `act_as`."""
    acting = await database.transaction(lambda tx: act_as(tx, developer, did))
    token = tokens.issue(
        TokenKind.AGENT, did, session=acting.session, now=acting.at, lifetime=LIFETIME, actor=acting.actor
    )
    return token, acting
