"""The SQL of intents.

Locks: the quota of a principal by an advisory lock; the payment of an intent by one conditional UPDATE in its transaction.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.batch_loader import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

DAYS_KEPT = 30

_COLUMNS = """
id, principal, agent_did, tool, arguments, most, created_at, expires_at, approval_id, payment, paid_at,
expires_at <= clock_timestamp() AS is_past, paid_at > clock_timestamp() - make_interval(hours => $3) AS is_answered
"""

_FIND = f"SELECT {_COLUMNS} FROM commerce_intent WHERE id = $1 AND principal = $2"  # noqa: S608

_COUNT_OPEN = """
SELECT count(*) FROM commerce_intent WHERE principal = $1 AND payment IS NULL
  AND expires_at > clock_timestamp()
"""

_INSERT = """
INSERT INTO commerce_intent (id, principal, agent_did, tool, arguments, most, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, date_trunc('second', clock_timestamp()) + make_interval(mins => $7)) RETURNING expires_at
"""

_PAY = """
UPDATE commerce_intent SET payment = $2, paid_at = clock_timestamp() WHERE id = $1 AND payment IS NULL RETURNING true
"""

_OLD = f"FROM commerce_intent WHERE expires_at <= now() - make_interval(days => {DAYS_KEPT})"

HAS_OLD = Question(f"SELECT EXISTS (SELECT {_OLD})")
"""Condition of an intent that ended long ago."""


class NewIntent(msgspec.Struct, frozen=True):
    """Payment of `agent_did` that a principal may make with `tool`; `most` is its greatest amount without the fee."""

    principal: str
    agent_did: str
    tool: str
    arguments: dict[str, Any]
    most: Minor


class IntentRow(msgspec.Struct, frozen=True):
    """An intent as it is stored; `is_past` and `is_answered` are of the moment of the reading, by the database's clock."""

    id: str
    principal: str
    agent_did: str
    tool: str
    arguments: bytes
    most: int
    created_at: datetime
    expires_at: datetime
    approval_id: UUID | None
    payment: str | None
    paid_at: datetime | None
    is_past: bool
    is_answered: bool | None


async def lock_quota(tx: Tx, principal: str) -> None:
    """Let the intents of one principal follow each other."""
    await tx.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('commerce: intents of ' || $1, 1))", principal
    )


async def count_open(tx: Tx, principal: str) -> int:
    """How many intents of the principal can still be paid."""
    count: int = await tx.fetchval(_COUNT_OPEN, principal)
    return count


async def insert(tx: Tx, intent_id: str, new: NewIntent, sealed: bytes, minutes: int) -> datetime:
    """Write a new intent with its sealed arguments; returns the time of its end."""
    ends: datetime = await tx.fetchval(
        _INSERT, intent_id, new.principal, new.agent_did, new.tool, sealed, new.most, minutes
    )
    return ends


async def find(tx: Tx, intent_id: str, principal: str, answered_hours: int) -> IntentRow | None:
    """The intent of this principal; takes no lock."""
    row = await tx.fetchrow(_FIND, intent_id, principal, answered_hours)
    return None if row is None else IntentRow(**row)


async def pay(tx: Tx, intent_id: str, payment: str) -> bool:
    """Write the payment of an intent; False where it has one."""
    return await tx.fetchval(_PAY, intent_id, payment) is not None


async def note_approval(tx: Tx, intent_id: str, approval_id: UUID) -> None:
    """Note the approval that the payment of an intent waits for."""
    await tx.execute("UPDATE commerce_intent SET approval_id = $2 WHERE id = $1", intent_id, approval_id)


async def delete_old(tx: Tx) -> None:
    """Delete a batch of intents that ended long ago."""
    await tx.execute(f"DELETE FROM commerce_intent WHERE id IN (SELECT id {_OLD} LIMIT 10000)")  # noqa: S608
