"""The SQL of workload identities. Each act is one conditional UPDATE: of two at once the second finds nothing left."""

from hansa.foundation.plumbing.database import Tx

_REVOKE = """
UPDATE agents_mtls m SET status = 'revoked', ended_at = now() FROM agents_agent a
WHERE a.id = m.agent_id AND a.did = $1 AND m.status = 'enrolled' RETURNING m.spiffe_id
"""

_RESTORE = """
UPDATE agents_mtls m SET status = 'enrolled', ended_at = NULL FROM agents_agent a
WHERE a.id = m.agent_id AND a.did = $1 AND a.status <> 'revoked' AND m.status = 'revoked' RETURNING m.spiffe_id
"""


async def revoke(tx: Tx, did: str) -> str | None:
    """Revoke the identity and return its SPIFFE id; None when the agent is not enrolled."""
    spiffe_id: str | None = await tx.fetchval(_REVOKE, did)
    return spiffe_id


async def restore(tx: Tx, did: str) -> str | None:
    """Enrol again what was revoked and return its SPIFFE id; None when nothing was."""
    spiffe_id: str | None = await tx.fetchval(_RESTORE, did)
    return spiffe_id
