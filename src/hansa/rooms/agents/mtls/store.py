"""The SQL of workload identities. Each act is one conditional UPDATE: of two at once the second finds nothing left.

Enrolment holds the agent's row, as suspension does: a certificate is issued before a suspension that then revokes it,
or not at all.
"""

from collections.abc import Collection
from datetime import timedelta

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx

from .rules import EndedIdentity, Enrolment

_ROW = "m.spiffe_id, m.status, m.enrolled_at, m.issued_at, m.expires_at, m.ended_at"

_LOCK_STATUS = """
SELECT m.status FROM agents_mtls m JOIN agents_agent a ON a.id = m.agent_id WHERE a.did = $1 FOR UPDATE OF m
"""

_ENROL = f"""
INSERT INTO agents_mtls AS m (agent_id, spiffe_id, issued_at, expires_at)
SELECT id, $2, now(), date_trunc('second', now()) + $3 FROM agents_agent WHERE did = $1
ON CONFLICT (agent_id) DO UPDATE SET spiffe_id = excluded.spiffe_id, status = 'enrolled', ended_at = NULL,
  enrolled_at = CASE WHEN m.status = 'enrolled' THEN m.enrolled_at ELSE now() END,
  issued_at = excluded.issued_at, expires_at = excluded.expires_at
RETURNING {_ROW}
"""  # noqa: S608

_FIND = f"SELECT {_ROW} FROM agents_mtls m JOIN agents_agent a ON a.id = m.agent_id WHERE a.did = $1"  # noqa: S608

_END = """
UPDATE agents_mtls m SET status = $2, ended_at = now() FROM agents_agent a
WHERE a.id = m.agent_id AND a.did = $1 AND m.status = 'enrolled' RETURNING m.spiffe_id
"""

_RESTORE = """
UPDATE agents_mtls m SET status = 'enrolled', ended_at = NULL FROM agents_agent a
WHERE a.id = m.agent_id AND a.did = $1 AND a.status <> 'revoked' AND m.status = 'revoked' RETURNING m.spiffe_id
"""

# What the agent gave up itself needs no mention once the last certificate has run out.
_ENDED = """
SELECT spiffe_id, ended_at AS revoked_at FROM agents_mtls
WHERE status = 'revoked' OR (status = 'disabled' AND expires_at > now()) ORDER BY ended_at, agent_id
"""

_ENDED_AMONG = "SELECT spiffe_id FROM agents_mtls WHERE spiffe_id = ANY($1) AND status <> 'enrolled'"


async def lock_enrolment(tx: Tx, did: str) -> str | None:
    """The status of an agent's identity, locked, or None when it never had one."""
    status: str | None = await tx.fetchval(_LOCK_STATUS, did)
    return status


async def enrol(tx: Tx, did: str, spiffe_id: str, lifetime: timedelta) -> Enrolment:
    """Write that the agent has an identity and a certificate that ends `lifetime` from now."""
    row = await tx.fetchrow(_ENROL, did, spiffe_id, lifetime)
    assert row is not None
    return Enrolment(**row)


async def find(tx: Tx, did: str) -> Enrolment | None:
    """An agent's identity in any status."""
    row: asyncpg.Record | None = await tx.fetchrow(_FIND, did)
    return Enrolment(**row) if row else None


async def end(tx: Tx, did: str, status: str) -> str | None:
    """End an identity as `disabled` or `revoked` and return its SPIFFE id; None when the agent is not enrolled."""
    spiffe_id: str | None = await tx.fetchval(_END, did, status)
    return spiffe_id


async def restore(tx: Tx, did: str) -> str | None:
    """Enrol a revoked identity again and return its SPIFFE id; None when none was revoked."""
    spiffe_id: str | None = await tx.fetchval(_RESTORE, did)
    return spiffe_id


async def ended_among(tx: Tx, spiffe_ids: Collection[str]) -> set[str]:
    """Those of the identities that were given up or revoked."""
    rows = await tx.fetch(_ENDED_AMONG, list(spiffe_ids))
    return {row["spiffe_id"] for row in rows}


async def ended(tx: Tx) -> list[EndedIdentity]:
    """Every identity of which a certificate may be shown that counts no longer, the longest ended first."""
    return [EndedIdentity(**row) for row in await tx.fetch(_ENDED)]
