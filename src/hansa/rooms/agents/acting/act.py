"""Let an owner act as its agent for a while."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hansa.foundation.events import AgentActTokenIssued
from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx
from hansa.rooms import journal
from hansa.rooms.agents.rules import require_active, require_owner, session_of
from hansa.rooms.agents.store import find_owner_and_roles, find_secret

LIFETIME = timedelta(minutes=15)


@dataclass(frozen=True)
class Acting:
    """An own agent that is active, and when that was so, by the database's clock; `actor` names the owner."""

    session: str
    actor: str
    at: datetime


async def act_as(tx: Tx, developer: Developer, did: str) -> Acting:
    """Append the event that the owner acts as the agent from now on.

    Raises: AgentUnknown, NotTheOwner, AgentSuspended, AgentRevoked.
    """
    require_owner(await find_owner_and_roles(tx, did), developer.id)
    secret = await find_secret(tx, did)
    require_active(secret.status)
    actor = f"developer:{developer.id}"
    expires_at = secret.read_at + LIFETIME
    await journal.append(tx, AgentActTokenIssued(did=did, actor=actor, expires_at=expires_at.isoformat()))
    return Acting(session_of(secret.client_id, secret.number), actor, secret.read_at)
