"""Acts of administrators, kept for good: author, credential, act, subject and reason.

- An act is recorded in the transaction that carries it out: there is no act without its row, and no row without its act.
- Rows are never changed or deleted; the database refuses it. Hence no personal data belongs in them: name people and
  agents by id or DID.
- The transaction of an act locks its author: a barred one, who is suspended or whose account is closed, carries out none.
"""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import AreasWithheld, Developer

_RECORD = """
INSERT INTO plumbing_admin_act (developer_id, credential, act, subject, reason) VALUES ($1, $2, $3, $4, $5)
"""

_BAR = """
INSERT INTO plumbing_admin_author AS a (developer_id, barred_since) VALUES ($1, now())
ON CONFLICT (developer_id) DO UPDATE SET barred_since = coalesce(a.barred_since, excluded.barred_since)
"""

_ADMIT = "UPDATE plumbing_admin_author SET barred_since = NULL WHERE developer_id = $1"

_FILTERED = """
FROM plumbing_admin_act WHERE ($1::bigint IS NULL OR developer_id = $1) AND ($2::text IS NULL OR act = $2)
  AND ($3::text IS NULL OR subject = $3)
"""

_LIST = f"""
SELECT id, developer_id, credential, act, subject, reason, done_at {_FILTERED} ORDER BY id DESC LIMIT $4 OFFSET $5
"""


class AdminAct(msgspec.Struct, frozen=True):
    """One act of an administrator; without a developer, of the operator at the command line."""

    id: int
    developer_id: int | None
    credential: str
    act: str
    subject: str
    reason: str | None
    done_at: datetime


class AdminActFilter(msgspec.Struct, frozen=True):
    """Filter of acts, newest first; None in a member matches every act."""

    developer_id: int | None
    act: str | None
    subject: str | None
    limit: int
    offset: int


async def record_admin_act(
    tx: Tx, developer: Developer, *, act: str, subject: str, reason: str | None = None
) -> None:
    """Record the act of the administrator in this transaction.

    `act` is a word of dots and underscores such as `agent.suspend`, `subject` the DID or id it is done to, at most 512
    characters, `reason` at most 2000; an empty one is none. Raises: AreasWithheld.
    """
    is_recorded = await tx.fetchval(
        "SELECT plumbing_record_admin_act($1, $2, $3, $4, $5)",
        developer.id,
        developer.session,
        act,
        subject,
        reason or None,
    )
    if not is_recorded:
        raise AreasWithheld


async def record_operator_act(tx: Tx, *, act: str, subject: str, reason: str | None = None) -> None:
    """Record the act of the operator at the command line in this transaction."""
    await tx.execute(_RECORD, None, "command line", act, subject, reason or None)


async def record_act(
    tx: Tx, administrator: Developer | None, *, act: str, subject: str, reason: str | None = None
) -> None:
    """Record an act of an administrator, or without one of the operator at the command line."""
    if administrator is None:
        await record_operator_act(tx, act=act, subject=subject, reason=reason)
    else:
        await record_admin_act(tx, administrator, act=act, subject=subject, reason=reason)


async def bar_author(tx: Tx, developer_id: int) -> None:
    """Refuse acts of the developer from now on; waits for one under way."""
    await tx.execute(_BAR, developer_id)


async def admit_author(tx: Tx, developer_id: int) -> None:
    """Refuse acts of the developer no longer."""
    await tx.execute(_ADMIT, developer_id)


async def list_admin_acts(tx: Tx, criteria: AdminActFilter) -> tuple[list[AdminAct], int]:
    """A page of acts, newest first, and how many there are of these in all."""
    asked = (criteria.developer_id, criteria.act, criteria.subject)
    rows = await tx.fetch(_LIST, *asked, criteria.limit, criteria.offset)
    total: int = await tx.fetchval(f"SELECT count(*) {_FILTERED}", *asked)
    return [AdminAct(**row) for row in rows], total
