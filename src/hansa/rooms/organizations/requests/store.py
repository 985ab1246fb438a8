"""The SQL of requests. Every change holds the row of the organization; the end of a request is one conditional UPDATE."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations import rules
from hansa.rooms.organizations.errors import RequestExists
from hansa.rooms.organizations.records import Approval, Request

_COLUMNS = """
r.id, r.kind, r.body, r.concerned_id, r.initiator_id, r.created_at, r.expires_at, r.reason,
CASE WHEN r.status = 'PENDING' AND r.expires_at <= clock_timestamp() THEN 'EXPIRED' ELSE r.status END AS status
"""

_INSERT = f"""
INSERT INTO organizations_request AS r (id, organization_id, kind, body, concerned_id, initiator_id, expires_at)
VALUES ($1, $2, $3, $4::jsonb, $5, $6, now() + $7) RETURNING {_COLUMNS}
"""  # noqa: S608

_SAME = """
SELECT true FROM organizations_request
WHERE organization_id = $1 AND status = 'PENDING' AND expires_at > clock_timestamp() AND kind = $2 AND body = $3::jsonb
"""

_COUNT_PENDING = """
SELECT count(*) FROM organizations_request
WHERE organization_id = $1 AND status = 'PENDING' AND expires_at > clock_timestamp()
"""

_LIST = f"""
SELECT {_COLUMNS} FROM organizations_request r WHERE r.organization_id = $1 ORDER BY r.created_at DESC, r.id LIMIT $2 OFFSET $3
"""  # noqa: S608

_FIND = f"SELECT {_COLUMNS} FROM organizations_request r WHERE r.organization_id = $1 AND r.id = $2"  # noqa: S608

_APPROVALS = """
SELECT request_id, developer_id, approved_at FROM organizations_approval WHERE request_id = ANY ($1)
ORDER BY approved_at, developer_id
"""

# Counts present owners who are not barred: the initiator is one of them, the developer concerned is not.
_AGREEING_OWNERS = """
SELECT count(*) FROM organizations_request r
  JOIN organizations_member m ON m.organization_id = r.organization_id AND m.role = 4
WHERE r.id = $1 AND m.developer_id IS DISTINCT FROM r.concerned_id AND NOT plumbing_is_barred_author(m.developer_id)
  AND (m.developer_id = r.initiator_id
    OR EXISTS (SELECT FROM organizations_approval a WHERE a.request_id = r.id AND a.developer_id = m.developer_id))
"""

_END = """
UPDATE organizations_request SET status = $2, reason = $3, ended_at = clock_timestamp()
WHERE id = $1 AND status = 'PENDING' AND expires_at > clock_timestamp() RETURNING true
"""

_EXPIRE = """
UPDATE organizations_request SET status = 'EXPIRED', ended_at = clock_timestamp()
WHERE id IN (SELECT id FROM organizations_request WHERE status = 'PENDING' AND expires_at <= clock_timestamp()
  LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""


async def insert(
    tx: Tx,
    organization_id: UUID,
    kind: str,
    body: dict[str, Any],
    *,
    concerned_id: int | None,
    initiator_id: int,
) -> Request:
    """Write a request of a locked organization. Raises: RequestExists, LimitReached."""
    text = json.dumps(body)
    if await tx.fetchval(_SAME, organization_id, kind, text):
        raise RequestExists
    pending: int = await tx.fetchval(_COUNT_PENDING, organization_id)
    rules.require_room(pending, rules.PENDING_REQUESTS_MAX, "open requests of an organization")
    row = await tx.fetchrow(
        _INSERT, uuid4(), organization_id, kind, text, concerned_id, initiator_id, rules.REQUEST_LIFETIME
    )
    assert row is not None
    return _request(row, ())


async def requests_of(tx: Tx, organization_id: UUID, *, limit: int, offset: int) -> tuple[list[Request], int]:
    """A page of the requests, newest first, and how many there are."""
    rows = await tx.fetch(_LIST, organization_id, limit, offset)
    total: int = await tx.fetchval(
        "SELECT count(*) FROM organizations_request WHERE organization_id = $1", organization_id
    )
    approvals = await _approvals(tx, [row["id"] for row in rows])
    return [_request(row, approvals.get(row["id"], ())) for row in rows], total


async def find(tx: Tx, organization_id: UUID, request_id: UUID) -> Request | None:
    """One request of the organization."""
    row = await tx.fetchrow(_FIND, organization_id, request_id)
    return None if row is None else _request(row, (await _approvals(tx, [request_id])).get(request_id, ()))


async def waiting_for(tx: Tx, organization_id: UUID, developer_id: int, *, limit: int) -> list[Request]:
    """The pending requests of other owners that this owner has not approved, the oldest first."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM organizations_request r"  # noqa: S608
        " WHERE r.organization_id = $1 AND r.status = 'PENDING' AND r.expires_at > clock_timestamp()"
        " AND r.initiator_id <> $2 AND r.concerned_id IS DISTINCT FROM $2 AND NOT EXISTS (SELECT FROM organizations_approval a"
        " WHERE a.request_id = r.id AND a.developer_id = $2) ORDER BY r.created_at, r.id LIMIT $3",
        organization_id,
        developer_id,
        limit,
    )
    approvals = await _approvals(tx, [row["id"] for row in rows])
    return [_request(row, approvals.get(row["id"], ())) for row in rows]


async def approve(tx: Tx, request_id: UUID, developer_id: int) -> None:
    """Note the approval of a developer, once."""
    await tx.execute(
        "INSERT INTO organizations_approval (request_id, developer_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        request_id,
        developer_id,
    )


async def agreeing_owners(tx: Tx, request_id: UUID) -> int:
    """The number of present owners who agree to a change of owners, the initiator included."""
    count: int = await tx.fetchval(_AGREEING_OWNERS, request_id)
    return count


async def end(tx: Tx, request_id: UUID, status: str, reason: str | None = None) -> bool:
    """End a pending request; False when it has ended or expired."""
    return bool(await tx.fetchval(_END, request_id, status, reason))


async def cancel_all(tx: Tx, organization_id: UUID) -> None:
    """Cancel every pending request of a locked organization."""
    await tx.execute(
        "UPDATE organizations_request SET status = 'CANCELLED', ended_at = clock_timestamp()"
        " WHERE organization_id = $1 AND status = 'PENDING'",
        organization_id,
    )


async def expire(tx: Tx) -> None:
    """Mark the requests that have expired."""
    await tx.execute(_EXPIRE)


async def _approvals(tx: Tx, request_ids: Sequence[UUID]) -> dict[UUID, tuple[Approval, ...]]:
    found: dict[UUID, tuple[Approval, ...]] = {}
    for row in await tx.fetch(_APPROVALS, list(request_ids)):
        approval = Approval(row["developer_id"], row["approved_at"])
        found[row["request_id"]] = (*found.get(row["request_id"], ()), approval)
    return found


def _request(row: asyncpg.Record, approvals: tuple[Approval, ...]) -> Request:
    return Request(**{**row, "body": json.loads(row["body"]), "approvals": approvals})
