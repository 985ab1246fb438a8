"""The SQL of requests. Every change holds the row of the organization; the end of a request is one conditional UPDATE."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.rooms.organizations import rules
from hansa.rooms.organizations.approvals.rules import Demand
from hansa.rooms.organizations.errors import RequestExists
from hansa.rooms.organizations.records import Approval, NewRequest, Outcome, PaidRequest, Request

_UNWRITTEN = datetime.max.replace(tzinfo=UTC)

CONCERNED = (
    "coalesce(r.concerned_id, CASE r.kind WHEN 'grant' THEN people_developer_at(r.body ->> 'email') END)"
)
"""The developer whom a request concerns. An invitation concerns the holder of its address now."""

_COLUMNS = f"""
r.id, r.kind, r.body, {CONCERNED} AS concerned_id, r.initiator_id, r.created_at, r.expires_at, r.reason, r.amount, r.note, r.demands,
r.approvals_needed, r.executes_at, r.tx_id, r.transfer_id, r.contract_id,
(SELECT json_agg(json_build_object('developer_id', a.developer_id, 'at', a.approved_at) ORDER BY a.approved_at, a.developer_id)
 FROM organizations_approval a WHERE a.request_id = r.id) AS approvals,
CASE WHEN r.status = 'PENDING' AND r.expires_at <= clock_timestamp() THEN 'EXPIRED' ELSE r.status END AS status
"""  # noqa: S608

_INSERT = f"""
INSERT INTO organizations_request AS r
  (id, organization_id, kind, body, concerned_id, initiator_id, amount, note, demands, expires_at)
VALUES ($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9::jsonb, now() + $10) RETURNING {_COLUMNS}
"""  # noqa: S608

_SAME = """
SELECT true FROM organizations_request
WHERE organization_id = $1 AND status = 'PENDING' AND expires_at > clock_timestamp() AND kind = $2 AND body = $3::jsonb
"""

_COUNT_PENDING = """
SELECT count(*) FROM organizations_request
WHERE organization_id = $1 AND status = 'PENDING' AND expires_at > clock_timestamp()
"""

_PAGE = with_total(
    f"SELECT {_COLUMNS} FROM organizations_request r WHERE r.organization_id = $1"  # noqa: S608
    " ORDER BY r.created_at DESC, r.id LIMIT $2 OFFSET $3",
    "SELECT count(*) FROM organizations_request WHERE organization_id = $1",
)

_FIND = f"SELECT {_COLUMNS} FROM organizations_request r WHERE r.organization_id = $1 AND r.id = $2"  # noqa: S608

_END = """
UPDATE organizations_request SET status = $2, reason = $3, ended_at = clock_timestamp()
WHERE id = $1 AND status = 'PENDING' AND expires_at > clock_timestamp() RETURNING true
"""

_CARRIED_OUT = f"""
UPDATE organizations_request r SET status = $2, ended_at = CASE $2 WHEN 'EXECUTING' THEN NULL ELSE clock_timestamp() END,
  tx_id = $3, transfer_id = $4, contract_id = $5, approvals_needed = $6, reason = NULL
WHERE r.id = $1 AND r.status = 'PENDING' AND r.expires_at > clock_timestamp() RETURNING {_COLUMNS}
"""  # noqa: S608

_DECIDED = """
UPDATE organizations_request SET status = $2, reason = $3, ended_at = clock_timestamp()
WHERE id = $1 AND status = 'EXECUTING' RETURNING true
"""

# A refused one waits for an act of a member.
_DUE = """
SELECT organization_id, id FROM organizations_request
WHERE status = 'PENDING' AND executes_at <= clock_timestamp() AND expires_at > clock_timestamp() AND reason IS NULL
ORDER BY executes_at, id LIMIT $1
"""

_FORGET_ADDRESS = """
UPDATE organizations_request SET body = body - 'email',
  status = CASE status WHEN 'PENDING' THEN 'CANCELLED' ELSE status END, ended_at = coalesce(ended_at, clock_timestamp())
WHERE kind = 'grant' AND body ->> 'email' = $1
"""

_EXPIRE = """
UPDATE organizations_request SET status = 'EXPIRED', ended_at = clock_timestamp()
WHERE id IN (SELECT id FROM organizations_request WHERE status = 'PENDING' AND expires_at <= clock_timestamp()
  LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""


def draft(kind: str, new: NewRequest, initiator_id: int) -> Request:
    """Return the request as it will be written; its moments are those of the writing."""
    return Request(
        id=uuid4(),
        kind=kind,
        body=new.body,
        concerned_id=new.concerned_id,
        initiator_id=initiator_id,
        status="PENDING",
        created_at=_UNWRITTEN,
        expires_at=_UNWRITTEN,
        reason=None,
        amount=new.amount,
        note=new.note,
    )


async def insert(
    tx: Tx, organization_id: UUID, new: Request, demands: Sequence[Demand], *, is_unique: bool
) -> Request:
    """Write a request of a locked organization; with `is_unique` the same one is not pending. Raises: RequestExists, LimitReached."""
    text = json.dumps(new.body)
    if is_unique and await tx.fetchval(_SAME, organization_id, new.kind, text):
        raise RequestExists
    if demands:
        pending: int = await tx.fetchval(_COUNT_PENDING, organization_id)
        rules.require_room(pending, rules.PENDING_REQUESTS_MAX, "open requests of an organization")
    row = await tx.fetchrow(
        _INSERT,
        new.id,
        organization_id,
        new.kind,
        text,
        new.concerned_id,
        new.initiator_id,
        new.amount,
        new.note,
        msgspec.json.encode(demands).decode(),
        rules.REQUEST_LIFETIME,
    )
    assert row is not None
    return _request(row)


async def requests_of(tx: Tx, organization_id: UUID, *, limit: int, offset: int) -> tuple[list[Request], int]:
    """A page of the requests, newest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE, organization_id, limit, offset)
    return [_request(row) for row in rows], total


async def find(tx: Tx, organization_id: UUID, request_id: UUID) -> Request | None:
    """One request of the organization."""
    row = await tx.fetchrow(_FIND, organization_id, request_id)
    return None if row is None else _request(row)


async def waiting_for(tx: Tx, organization_id: UUID, developer_id: int) -> list[Request]:
    """The pending requests of others that this member has not approved, the oldest first."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM organizations_request r"  # noqa: S608
        " WHERE r.organization_id = $1 AND r.status = 'PENDING' AND r.expires_at > clock_timestamp()"
        f" AND r.initiator_id <> $2 AND {CONCERNED} IS DISTINCT FROM $2 AND NOT EXISTS (SELECT FROM organizations_approval a"
        " WHERE a.request_id = r.id AND a.developer_id = $2) ORDER BY r.created_at, r.id LIMIT $3",
        organization_id,
        developer_id,
        rules.PENDING_REQUESTS_MAX,
    )
    return [_request(row) for row in rows]


async def approve(tx: Tx, request_id: UUID, developer_id: int) -> bool:
    """Note the approval of a developer; False when it was given before."""
    done = await tx.execute(
        "INSERT INTO organizations_approval (request_id, developer_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        request_id,
        developer_id,
    )
    return bool(done == "INSERT 0 1")


async def carried_out(tx: Tx, request: Request, outcome: Outcome, approvals_needed: int) -> Request | None:
    """Write the outcome of a pending request, which is executed or, with units under way, executing; None when it has ended or expired."""
    row = await tx.fetchrow(
        _CARRIED_OUT,
        request.id,
        "EXECUTED" if outcome.is_decided else "EXECUTING",
        outcome.tx_id,
        outcome.transfer_id,
        outcome.contract_id,
        approvals_needed,
    )
    return None if row is None else _request(row)


async def decided(tx: Tx, request_id: UUID, status: str, reason: str | None) -> bool:
    """End a request that is executing; False when it has ended."""
    return bool(await tx.fetchval(_DECIDED, request_id, status, reason))


async def set_reason(tx: Tx, request_id: UUID, reason: str) -> None:
    """Write why a pending request was not carried out."""
    await tx.execute(
        "UPDATE organizations_request SET reason = left($2, 2000) WHERE id = $1 AND status = 'PENDING'",
        request_id,
        reason,
    )


async def set_delay(tx: Tx, request_id: UUID, executes_at: datetime | None) -> None:
    """Write the end of the delay of a pending request, or that it has none."""
    await tx.execute(
        "UPDATE organizations_request SET executes_at = $2, reason = NULL WHERE id = $1 AND status = 'PENDING'",
        request_id,
        executes_at,
    )


async def due(tx: Tx, *, limit: int) -> list[tuple[UUID, UUID]]:
    """The requests whose delay has ended: organization and id, the first first."""
    return [(row["organization_id"], row["id"]) for row in await tx.fetch(_DUE, limit)]


async def executing_of(tx: Tx, organization_id: UUID) -> int:
    """The number of requests with units under way."""
    count: int = await tx.fetchval(
        "SELECT count(*) FROM organizations_request WHERE organization_id = $1 AND status = 'EXECUTING'",
        organization_id,
    )
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


async def paid_requests(tx: Tx, after_tx: int) -> list[PaidRequest]:
    """The requests that moved units within this registry by a transaction above this one."""
    rows = await tx.fetch(
        "SELECT id AS request_id, tx_id, amount FROM organizations_request WHERE tx_id > $1 AND transfer_id IS NULL",
        after_tx,
    )
    return [PaidRequest(**row) for row in rows]


async def forget_address(tx: Tx, email: str) -> None:
    """Take an address out of the requests to invite it, and cancel those that are pending."""
    await tx.execute(_FORGET_ADDRESS, email)


async def expire(tx: Tx) -> None:
    """Mark the requests that have expired."""
    await tx.execute(_EXPIRE)


def _request(row: asyncpg.Record | dict[str, Any]) -> Request:
    demands = msgspec.json.decode(row["demands"], type=tuple[Demand, ...])
    approvals = msgspec.json.decode(row["approvals"] or "[]", type=tuple[Approval, ...])
    return Request(**{**row, "body": json.loads(row["body"]), "demands": demands, "approvals": approvals})
