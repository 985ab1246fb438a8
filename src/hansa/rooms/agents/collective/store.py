"""The SQL of agents of organizations."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint, new_hex, new_name
from hansa.rooms.agents.rules import OwnedAgent
from hansa.rooms.agents.store import OWNED

_INSERT_TREASURY = """
INSERT INTO agents_agent (did, developer_id, organization_id, kind, name, roles, client_id, client_secret_sha256)
VALUES ($1, $2, $3, 'treasury', $4, '{}', $5, $6)
"""

_LOCK_FOR_MOVE = """
SELECT developer_id, organization_id, kind, status FROM agents_agent WHERE did = $1 FOR NO KEY UPDATE
"""

_OF_AGENT = """
SELECT c.root_id FROM agents_capability c JOIN agents_agent a ON a.id IN (c.issuer_id, c.holder_id) WHERE a.did = $1
"""

_LOCK_CAPABILITIES = f"""
SELECT FROM agents_capability WHERE id IN ({_OF_AGENT}) AND expires_at > now() ORDER BY id FOR NO KEY UPDATE
"""

_REVOKE_CAPABILITIES = """
UPDATE agents_capability c SET revoked_at = now() FROM agents_agent a, agents_capability own
WHERE a.did = $1 AND a.id IN (own.issuer_id, own.holder_id) AND own.id = ANY (c.path) AND c.revoked_at IS NULL
"""

_FORGET_WALLETS = "DELETE FROM agents_wallet w USING agents_agent a WHERE a.id = w.agent_id AND a.did = $1"

_FORGET_CHALLENGE = """
DELETE FROM agents_wallet_challenge w USING agents_agent a WHERE a.id = w.agent_id AND a.did = $1
"""

_WRITE_OWNER = """
UPDATE agents_agent SET organization_id = $2, client_secret_sha256 = $4, secret_number = secret_number + 1,
  secret_seen_by = NULL, developer_id = CASE WHEN $2::uuid IS NULL THEN $3 ELSE developer_id END
WHERE did = $1 AND status = 'active'
"""

_AGENTS = f"""
SELECT {OWNED} FROM agents_agent WHERE organization_id = $1 AND kind = 'agent' ORDER BY id LIMIT $2 OFFSET $3
"""  # noqa: S608

_COUNT = """
SELECT count(*) FROM agents_agent
WHERE organization_id = $1 AND kind = 'agent' AND (NOT $2 OR status <> 'revoked')
"""

_COUNTS = """
SELECT organization_id, count(*) AS agents FROM agents_agent
WHERE organization_id = ANY($1) AND kind = 'agent' GROUP BY organization_id
"""

_SECRETS_SEEN = """
SELECT did FROM agents_agent
WHERE organization_id = $1 AND secret_seen_by = $2 AND status <> 'revoked' ORDER BY id
"""


class Movable(msgspec.Struct, frozen=True):
    """Owner, kind and status of a locked agent."""

    developer_id: int
    organization_id: UUID | None
    kind: str
    status: str


async def insert_treasury(tx: Tx, did: str, developer_id: int, organization_id: UUID, name: str) -> None:
    """Write the treasury of an organization, with a secret that nobody has read."""
    secret = fingerprint(new_hex("hsk_"))
    await tx.execute(_INSERT_TREASURY, did, developer_id, organization_id, name, new_name("agent-"), secret)


async def lock_for_move(tx: Tx, did: str) -> Movable:
    """Lock an agent that is known to exist."""
    row = await tx.fetchrow(_LOCK_FOR_MOVE, did)
    return Movable(**row) if row else Movable(0, None, "agent", "revoked")


async def lock_capabilities(tx: Tx, did: str) -> None:
    """Lock the roots of the trees in which the agent has a part."""
    await tx.execute(_LOCK_CAPABILITIES, did)


async def revoke_capabilities(tx: Tx, did: str) -> None:
    """Revoke the capabilities that the agent issued or holds, and all that was drawn from them."""
    await tx.execute(_REVOKE_CAPABILITIES, did)


async def forget_wallets(tx: Tx, did: str) -> None:
    """Unbind every wallet of the agent."""
    await tx.execute(_FORGET_WALLETS, did)
    await tx.execute(_FORGET_CHALLENGE, did)


async def write_owner(
    tx: Tx, did: str, organization_id: UUID | None, developer_id: int, client_secret_sha256: bytes
) -> None:
    """Write the owner of a locked, active agent, and another secret."""
    await tx.execute(_WRITE_OWNER, did, organization_id, developer_id, client_secret_sha256)


async def agents_of(tx: Tx, organization_id: UUID, *, limit: int | None, offset: int) -> list[OwnedAgent]:
    """A page of the agents of an organization, the oldest first."""
    rows = await tx.fetch(_AGENTS, organization_id, limit, offset)
    return [OwnedAgent(**{**row, "roles": tuple(row["roles"])}) for row in rows]


async def count_of(tx: Tx, organization_id: UUID, *, but_revoked: bool) -> int:
    """The number of agents of an organization."""
    count: int = await tx.fetchval(_COUNT, organization_id, but_revoked)
    return count


async def counts_of(tx: Tx, organization_ids: Sequence[UUID]) -> dict[UUID, int]:
    """The number of agents of each organization that has any."""
    rows = await tx.fetch(_COUNTS, list(organization_ids))
    return {row["organization_id"]: row["agents"] for row in rows}


async def is_of(tx: Tx, did: str, organization_id: UUID) -> bool:
    """Return whether an agent of the organization has this DID."""
    found: bool = await tx.fetchval(
        "SELECT EXISTS (SELECT FROM agents_agent WHERE did = $1 AND organization_id = $2 AND kind = 'agent')",
        did,
        organization_id,
    )
    return found


async def are_related(tx: Tx, one: str, other: str) -> bool:
    """Return whether both agents are here and are related."""
    found: bool | None = await tx.fetchval("SELECT related FROM agents_related($1, $2)", one, other)
    return found is True


async def readers_of(tx: Tx, dids: Sequence[str]) -> list[tuple[str, int]]:
    """Pairs of an agent and a developer who may read it."""
    rows = await tx.fetch("SELECT agent, developer FROM agents_readers($1)", list(dids))
    return [(row["agent"], row["developer"]) for row in rows]


async def secrets_seen_by(tx: Tx, organization_id: UUID, developer_id: int) -> list[str]:
    """The agents whose present secret the developer has read."""
    return [row["did"] for row in await tx.fetch(_SECRETS_SEEN, organization_id, developer_id)]
