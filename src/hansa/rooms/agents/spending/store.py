"""The SQL of spend policies.

Locks: a payment locks the policy of its agent, then the grant it is made under, then an approval, then the accounts of the
ledger. Approvals are decided by one conditional UPDATE.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_facts import PageFact
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.foundation.values.money import Minor
from hansa.foundation.values.rights import Right

from .rules import Approval, Spending, SpendPolicy

HOURS_TO_DECIDE = 24
HOURS_TO_USE = 24
DAYS_KEPT = 90

_FIND_POLICY = """
SELECT p.agent_id, p.per_tx_max, p.per_day_max, p.allowlist, p.approval_over
FROM agents_spend_policy p JOIN agents_agent a ON a.id = p.agent_id WHERE a.did = $1
"""

_LOCK_POLICY = f"{_FIND_POLICY} FOR UPDATE OF p"

_WRITE_POLICY = """
WITH governed AS (UPDATE agents_agent SET is_governed = true WHERE did = $1 RETURNING id)
INSERT INTO agents_spend_policy (agent_id, per_tx_max, per_day_max, allowlist, approval_over)
SELECT id, $2::bigint, $3::bigint, $4::text[], $5::bigint FROM governed
ON CONFLICT (agent_id) DO UPDATE SET per_tx_max = excluded.per_tx_max, per_day_max = excluded.per_day_max,
  allowlist = excluded.allowlist, approval_over = excluded.approval_over, updated_at = now()
"""

_DELETE_POLICY = """
WITH free AS (UPDATE agents_agent SET is_governed = false WHERE did = $1 RETURNING id)
DELETE FROM agents_spend_policy p USING free WHERE p.agent_id = free.id
"""

_TODAY = "(now() AT TIME ZONE 'UTC')::date"

_SPENT_TODAY = f"SELECT spent FROM agents_spending WHERE agent_id = $1 AND day = {_TODAY}"  # noqa: S608

_COUNT_SPENDING = f"""
INSERT INTO agents_spending AS s (agent_id, day, spent) VALUES ($1, {_TODAY}, $2::bigint)
ON CONFLICT (agent_id, day) DO UPDATE SET spent = s.spent + excluded.spent
"""  # noqa: S608

_RETURN_SPENDING = """
UPDATE agents_spending s SET spent = s.spent - $3::bigint FROM agents_agent a
WHERE a.id = s.agent_id AND a.did = $1 AND s.day = ($2::timestamptz AT TIME ZONE 'UTC')::date
"""

_SPENT_UNDER_GRANTS = f"""
SELECT grant_id, spent FROM agents_grant_spending WHERE grant_id = ANY ($1) AND day = {_TODAY}
"""  # noqa: S608

_COUNT_GRANT_SPENDING = f"""
INSERT INTO agents_grant_spending AS s (grant_id, day, spent) VALUES ($1, {_TODAY}, $2::bigint)
ON CONFLICT (grant_id, day) DO UPDATE SET spent = s.spent + excluded.spent
"""  # noqa: S608

_RETURN_GRANT_SPENDING = """
UPDATE agents_grant_spending SET spent = spent - $3::bigint
WHERE grant_id = $1 AND day = ($2::timestamptz AT TIME ZONE 'UTC')::date
"""

# What nobody decided on or used in time is over from that moment, whether or not a sweep has been there.
_COLUMNS = """
p.id, CASE WHEN p.status IN ('pending', 'approved') AND p.used_at IS NULL AND p.expires_at <= clock_timestamp()
  THEN 'expired' ELSE p.status END AS status, p.payee, p.amount, p.created_at, p.expires_at, p.decided_at, p.used_at,
p.grant_id, p.request_scope, p.client, p.operation
"""

_OF_AGENT = f"""
SELECT {_COLUMNS} FROM agents_spend_approval p JOIN agents_agent a ON a.id = p.agent_id WHERE a.did = $1
"""  # noqa: S608

_APPROVALS = f"""
WITH found AS ({_OF_AGENT}), filtered AS (SELECT * FROM found WHERE $2::text IS NULL OR status = $2)
SELECT * FROM filtered ORDER BY created_at DESC, id LIMIT $3 OFFSET $4
"""  # noqa: S608

_PAGE_OF_APPROVALS = with_total(
    _APPROVALS,
    f"WITH found AS ({_OF_AGENT}) SELECT count(*) FROM found WHERE $2::text IS NULL OR status = $2",  # noqa: S608
)

_USABLE = f"""
{_OF_AGENT} AND p.status = 'approved' AND p.used_at IS NULL AND p.grant_id IS NULL AND p.expires_at > clock_timestamp()
ORDER BY p.decided_at DESC, p.id LIMIT $2
"""

_LOCK_APPROVAL = f"{_OF_AGENT} AND p.id = $2 FOR UPDATE OF p"

_LOCK_APPROVAL_OF_REQUEST = f"""
{_OF_AGENT} AND p.request_scope = $2 AND p.payee = $3 AND p.amount = $4 AND p.used_at IS NULL
  AND p.grant_id IS NOT DISTINCT FROM $5
ORDER BY p.created_at DESC, p.id LIMIT 1 FOR UPDATE OF p
"""

_OF_OWNER = f"""
SELECT a.did, {_COLUMNS} FROM agents_spend_approval p JOIN agents_agent a ON a.id = p.agent_id
WHERE p.id = $2 AND agents_right($1, a) >= $3
"""  # noqa: S608

_INBOX = f"""
SELECT a.did, {_COLUMNS} FROM agents_spend_approval p JOIN agents_managed($1) a ON a.id = p.agent_id
ORDER BY (p.status = 'pending' AND p.expires_at > clock_timestamp()) DESC, p.created_at DESC, p.id LIMIT $2
"""  # noqa: S608

_INBOX_COUNTED = """
SELECT count(*) FROM agents_spend_approval p JOIN agents_managed({owner}) a ON a.id = p.agent_id
WHERE p.status = 'pending' AND p.expires_at > clock_timestamp()
"""
_COUNT_INBOX = _INBOX_COUNTED.format(owner="$1")

APPROVALS_WAITING = PageFact(_INBOX_COUNTED.format(owner="asked.developer_id"))
"""Payments of own agents that wait for a decision."""

_USE_APPROVAL = """
UPDATE agents_spend_approval SET used_at = clock_timestamp()
WHERE id = $1 AND status = 'approved' AND used_at IS NULL RETURNING true
"""

_FIND_PENDING = f"""
SELECT {_COLUMNS} FROM agents_spend_approval p
WHERE p.agent_id = $1 AND p.payee = $2 AND p.amount = $3 AND p.status = 'pending'
  AND p.grant_id IS NOT DISTINCT FROM $4 AND (p.grant_id IS NULL OR p.request_scope = $5)
"""  # noqa: S608

_INSERT_APPROVAL = f"""
INSERT INTO agents_spend_approval AS p
  (agent_id, payee, amount, request_scope, expires_at, grant_id, client, operation)
VALUES ($1, $2, $3, $4, now() + make_interval(hours => $5), $6, $7, $8) RETURNING {_COLUMNS}
"""  # noqa: S608

_DECIDE_APPROVAL = f"""
UPDATE agents_spend_approval p SET status = $3, decided_at = clock_timestamp(),
  expires_at = CASE $3 WHEN 'approved' THEN clock_timestamp() + make_interval(hours => $4) ELSE p.expires_at END
FROM agents_agent a
WHERE a.id = p.agent_id AND a.did = $1 AND p.id = $2 AND p.status = 'pending' AND p.expires_at > clock_timestamp()
  AND (p.grant_id IS NULL OR $5)
RETURNING {_COLUMNS}
"""  # noqa: S608

_EXPIRE = """
UPDATE agents_spend_approval SET status = 'expired'
WHERE status IN ('pending', 'approved') AND used_at IS NULL AND expires_at <= clock_timestamp()
"""


class Governed(msgspec.Struct, frozen=True):
    """An agent and the policy it is under."""

    agent_id: int
    policy: SpendPolicy


async def find_policy(tx: Tx, did: str) -> Governed | None:
    """The policy of an agent, or None; takes no lock."""
    return _governed(await tx.fetchrow(_FIND_POLICY, did))


async def lock_policy(tx: Tx, did: str) -> Governed | None:
    """Return the policy of an agent, locked until the transaction ends, or None."""
    return _governed(await tx.fetchrow(_LOCK_POLICY, did))


async def write_policy(tx: Tx, did: str, policy: SpendPolicy) -> None:
    """Put an agent under a policy, in place of the one it may have."""
    allowlist = None if policy.allowlist is None else list(policy.allowlist)
    await tx.execute(
        _WRITE_POLICY, did, policy.per_tx_max, policy.per_day_max, allowlist, policy.approval_over
    )


async def delete_policy(tx: Tx, did: str) -> None:
    """Take the policy of an agent away, if it has one."""
    await tx.execute(_DELETE_POLICY, did)


async def spent_today(tx: Tx, agent_id: int) -> Minor:
    """Return the amount that a governed agent paid since midnight UTC."""
    return Minor(int(await tx.fetchval(_SPENT_TODAY, agent_id) or 0))


async def count_spending(tx: Tx, agent_id: int, amount: Minor) -> None:
    """Add to the amount that a governed agent paid today."""
    await tx.execute(_COUNT_SPENDING, agent_id, amount)


async def return_spending(tx: Tx, did: str, counted_at: datetime, amount: Minor) -> None:
    """Take back the amount counted at this moment; a day that is long over may have been deleted."""
    await tx.execute(_RETURN_SPENDING, did, counted_at, amount)


async def spent_under_grants(tx: Tx, grant_ids: Sequence[UUID]) -> dict[UUID, Minor]:
    """The amounts paid since midnight UTC under those of the grants that paid."""
    rows = await tx.fetch(_SPENT_UNDER_GRANTS, grant_ids)
    return {row["grant_id"]: Minor(int(row["spent"])) for row in rows}


async def count_grant_spending(tx: Tx, grant_id: UUID, amount: Minor) -> None:
    """Add to the amount that was paid today under a grant."""
    await tx.execute(_COUNT_GRANT_SPENDING, grant_id, amount)


async def return_grant_spending(tx: Tx, grant_id: UUID, counted_at: datetime, amount: Minor) -> None:
    """Take back the amount that a grant counted at this moment."""
    await tx.execute(_RETURN_GRANT_SPENDING, grant_id, counted_at, amount)


async def agent_id_of(tx: Tx, did: str) -> int:
    """The row of an agent of this registry."""
    agent_id: int | None = await tx.fetchval("SELECT id FROM agents_agent WHERE did = $1", did)
    assert agent_id is not None
    return agent_id


async def lock_approval(tx: Tx, did: str, approval_id: UUID) -> Approval | None:
    """An approval of this agent, locked until the transaction ends."""
    return _approval(await tx.fetchrow(_LOCK_APPROVAL, did, approval_id))


async def lock_approval_of_request(tx: Tx, did: str, spending: Spending) -> Approval | None:
    """The newest unused approval that this very request asked for, locked until the transaction ends."""
    return _approval(
        await tx.fetchrow(
            _LOCK_APPROVAL_OF_REQUEST,
            did,
            spending.request_scope,
            spending.payee,
            spending.amount,
            spending.grant_id,
        )
    )


async def use_approval(tx: Tx, approval_id: UUID) -> None:
    """Use up a locked approval."""
    used = await tx.fetchval(_USE_APPROVAL, approval_id)
    assert used, "a locked approval was used by someone else"


async def find_pending(tx: Tx, agent_id: int, spending: Spending) -> Approval | None:
    """The pending approval of this payment, under a grant of this request, if there is one."""
    return _approval(
        await tx.fetchrow(
            _FIND_PENDING,
            agent_id,
            spending.payee,
            spending.amount,
            spending.grant_id,
            spending.request_scope,
        )
    )


async def keep_request(tx: Tx, approval_id: UUID, request_scope: bytes | None) -> None:
    """Note the request of a pending approval that came without an Idempotency-Key at first."""
    await tx.execute(
        "UPDATE agents_spend_approval SET request_scope = $2 WHERE id = $1 AND request_scope IS NULL",
        approval_id,
        request_scope,
    )


async def count_pending(tx: Tx, agent_id: int, grant_id: UUID | None) -> int:
    """How many payments of an agent under this grant, or of the agent itself, wait for its owner."""
    pending: int = await tx.fetchval(
        "SELECT count(*) FROM agents_spend_approval"
        " WHERE agent_id = $1 AND status = 'pending' AND grant_id IS NOT DISTINCT FROM $2",
        agent_id,
        grant_id,
    )
    return pending


async def insert_approval(tx: Tx, agent_id: int, spending: Spending) -> Approval:
    """A new pending approval; one for the same payment must not be pending."""
    made = _approval(
        await tx.fetchrow(
            _INSERT_APPROVAL,
            agent_id,
            spending.payee,
            spending.amount,
            spending.request_scope,
            HOURS_TO_DECIDE,
            spending.grant_id,
            spending.client,
            spending.operation,
        )
    )
    assert made is not None
    return made


async def find_approval(tx: Tx, did: str, approval_id: UUID) -> Approval | None:
    """An approval of this agent; takes no lock."""
    return _approval(await tx.fetchrow(f"{_OF_AGENT} AND p.id = $2", did, approval_id))


async def approval_of_owner(tx: Tx, developer_id: int, approval_id: UUID) -> tuple[str, Approval] | None:
    """An approval of an agent that this developer manages, with the DID; takes no lock."""
    row = await tx.fetchrow(_OF_OWNER, developer_id, approval_id, Right.MANAGE)
    if row is None:
        return None
    columns = dict(row)
    return columns.pop("did"), Approval(**columns)


async def inbox(tx: Tx, developer_id: int, limit: int) -> list[tuple[str, Approval]]:
    """Approvals of all agents of a developer, each with the DID: the pending ones first, then the newest. Takes no lock."""
    found = [dict(row) for row in await tx.fetch(_INBOX, developer_id, limit)]
    return [(columns.pop("did"), Approval(**columns)) for columns in found]


async def count_inbox(tx: Tx, developer_id: int) -> int:
    """The number of pending approvals of all agents of a developer."""
    number: int = await tx.fetchval(_COUNT_INBOX, developer_id)
    return number


async def decide_approval(
    tx: Tx, did: str, approval_id: UUID, status: str, *, in_browser: bool
) -> Approval | None:
    """Decide a pending approval of this agent, under a grant only in a browser; None when there is none, or not any more."""
    return _approval(await tx.fetchrow(_DECIDE_APPROVAL, did, approval_id, status, HOURS_TO_USE, in_browser))


async def approvals(
    tx: Tx, did: str, status: str | None, *, limit: int, offset: int
) -> tuple[Sequence[Approval], int]:
    """A page of the approvals of an agent, newest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE_OF_APPROVALS, did, status, limit, offset)
    return [_of_row(row) for row in rows], total


async def usable_approvals(tx: Tx, did: str, limit: int) -> list[Approval]:
    """The approvals with which an agent itself may pay now, the one decided last first."""
    return [_of_row(row) for row in await tx.fetch(_USABLE, did, limit)]


async def expire_approvals_of(tx: Tx, agent_id: int) -> None:
    """Mark the expired approvals of an agent whose policy is locked."""
    await tx.execute(f"{_EXPIRE} AND agent_id = $1", agent_id)


async def expire_approvals(tx: Tx) -> None:
    """Mark expired approvals; one that somebody holds waits for the next turn."""
    await tx.execute(
        f"{_EXPIRE} AND id IN (SELECT id FROM agents_spend_approval"  # noqa: S608
        " WHERE status IN ('pending', 'approved') AND used_at IS NULL AND expires_at <= clock_timestamp()"
        " LIMIT 10000 FOR UPDATE SKIP LOCKED)"
    )


async def delete_past(tx: Tx) -> None:
    """Delete days and approvals that ended long ago."""
    await tx.execute(
        "DELETE FROM agents_spending WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::int", DAYS_KEPT
    )
    await tx.execute(
        "DELETE FROM agents_grant_spending WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::int", DAYS_KEPT
    )
    await tx.execute(
        "DELETE FROM agents_spend_approval"
        " WHERE status <> 'pending' AND expires_at < now() - make_interval(days => $1)",
        DAYS_KEPT,
    )


def _governed(row: asyncpg.Record | None) -> Governed | None:
    if row is None:
        return None
    allowlist = None if row["allowlist"] is None else tuple(row["allowlist"])
    policy = SpendPolicy(row["per_tx_max"], row["per_day_max"], allowlist, row["approval_over"])
    return Governed(row["agent_id"], policy)


def _approval(row: asyncpg.Record | None) -> Approval | None:
    return None if row is None else _of_row(row)


def _of_row(row: asyncpg.Record | dict[str, Any]) -> Approval:
    return Approval(**row)
