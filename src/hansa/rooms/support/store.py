"""Every SQL statement on tickets, their messages, notes and states.

The account of the author is locked before a ticket is opened or reopened and before the author writes; a ticket is locked before
anything in it changes. The account comes first.
"""

from collections.abc import Sequence
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx

from .records import (
    Changes,
    Message,
    Move,
    MovedBy,
    NewTicket,
    Note,
    Related,
    Status,
    Ticket,
    TicketFilter,
    Waiting,
)
from .rules import CLOSE_DAYS

CLOSED_AT_ONCE = 500

_COLUMNS = """
id, number, author_id, category, subject, body, agent_did, related_type, related_id, reporter_email, status, priority, assignee_id,
created_at, updated_at, first_answered_at, resolved_at, closed_at
"""

_INSERT = f"""
INSERT INTO support_ticket (author_id, category, subject, body, agent_did, related_type, related_id, reporter_email)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING {_COLUMNS}
"""  # noqa: S608

_FIND = f"SELECT {_COLUMNS} FROM support_ticket WHERE id = $1 AND ($2::bigint IS NULL OR author_id = $2)"  # noqa: S608

# The text is sought in the subject and the DID, or is the number.
_PAGE = f"""
SELECT {_COLUMNS} FROM support_ticket
WHERE ($1::bigint IS NULL OR author_id = $1) AND ($2::bigint IS NULL OR number < $2) AND ($3::text IS NULL OR status = $3)
  AND ($4::text IS NULL OR category = $4) AND ($5::bigint IS NULL OR coalesce(assignee_id, 0) = $5)
  AND ($6::text IS NULL OR position(lower($6) IN lower(subject)) > 0 OR position($6 IN agent_did) > 0 OR 'T-' || number = upper($6))
ORDER BY number DESC LIMIT $7
"""  # noqa: S608

_COUNT_OPEN = """
SELECT count(*) FROM support_ticket WHERE author_id = $1 AND status IN ('open', 'waiting_for_user')
"""

# A ticket waits since it was last opened: by its author, or again.
_WAITING = """
SELECT k.kind, count(t.id) AS number, coalesce(extract(epoch FROM clock_timestamp() - min(t.since)), 0)::float8 AS oldest_seconds
FROM (VALUES ('ticket', false), ('report', true)) AS k (kind, is_report) LEFT JOIN (
  SELECT id, author_id IS NULL AS is_report,
    (SELECT max(moved_at) FROM support_move m WHERE m.ticket_id = o.id AND m.status = 'open') AS since
  FROM support_ticket o WHERE status = 'open'
) t ON t.is_report = k.is_report
GROUP BY k.kind ORDER BY k.kind DESC
"""

_SECONDS_LEFT = "ceil(extract(epoch FROM created_at + interval '1 hour' - clock_timestamp()))::int"

# The one that has to leave the hour before another may come.
_OPENED_WAIT = f"""
SELECT {_SECONDS_LEFT} FROM support_ticket
WHERE author_id = $1 AND created_at > clock_timestamp() - interval '1 hour' ORDER BY created_at DESC OFFSET $2 LIMIT 1
"""  # noqa: S608

_WRITTEN_WAIT = f"""
SELECT {_SECONDS_LEFT} FROM support_message
WHERE author_id = $1 AND created_at > clock_timestamp() - interval '1 hour' ORDER BY created_at DESC OFFSET $2 LIMIT 1
"""  # noqa: S608

_WRITE = """
INSERT INTO support_message (ticket_id, author_id, staff_id, body) VALUES ($1, $2, $3, $4)
"""

_MOVED = """
status = $2, updated_at = clock_timestamp(),
resolved_at = CASE WHEN $2 = 'resolved' THEN clock_timestamp() WHEN $2 = 'closed' THEN resolved_at END,
closed_at = CASE WHEN $2 = 'closed' THEN clock_timestamp() END,
reporter_email = CASE WHEN $2 <> 'closed' THEN reporter_email END
"""

_MOVE = f"UPDATE support_ticket SET {_MOVED} WHERE id = $1 AND status <> $2 RETURNING {_COLUMNS}"  # noqa: S608

_ANSWERED = f"""
UPDATE support_ticket SET first_answered_at = coalesce(first_answered_at, clock_timestamp()), updated_at = clock_timestamp()
WHERE id = $1 RETURNING {_COLUMNS}
"""  # noqa: S608

_RECORD_MOVE = "INSERT INTO support_move (ticket_id, status, moved_by) VALUES ($1, $2, $3)"

_SORT = f"""
UPDATE support_ticket SET priority = $2, assignee_id = $3, updated_at = clock_timestamp() WHERE id = $1 RETURNING {_COLUMNS}
"""  # noqa: S608

_DUE = (
    f"FROM support_ticket WHERE status = 'resolved' AND resolved_at <= now() - interval '{CLOSE_DAYS} days'"
)

_LOCK_DUE = f"SELECT id {_DUE} ORDER BY resolved_at LIMIT {CLOSED_AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED"

HAS_DUE = Question(f"SELECT EXISTS (SELECT {_DUE})")
"""Question for a resolved ticket that is due to close."""

_ERASE = (
    "DELETE FROM support_ticket WHERE author_id = $1",
    "UPDATE support_ticket SET assignee_id = NULL WHERE assignee_id = $1",
    "UPDATE support_message SET staff_id = NULL WHERE staff_id = $1",
    "UPDATE support_note SET staff_id = NULL WHERE staff_id = $1",
)


async def insert(tx: Tx, new: NewTicket, moved_by: MovedBy) -> Ticket:
    """Store an open ticket with its first state."""
    related = new.related
    row = await tx.fetchrow(
        _INSERT,
        new.author_id,
        new.category,
        new.subject,
        new.body,
        new.agent_did,
        related.type if related else None,
        related.id if related else None,
        new.reporter_email,
    )
    assert row is not None
    await tx.execute(_RECORD_MOVE, row["id"], "open", moved_by)
    return _ticket(row)


async def find(tx: Tx, ticket_id: UUID, author_id: int | None = None, *, lock: bool = False) -> Ticket | None:
    """A ticket, of this author where one is named; locked where the caller goes on to change it."""
    row = await tx.fetchrow(_FIND + (" FOR NO KEY UPDATE" if lock else ""), ticket_id, author_id)
    return None if row is None else _ticket(row)


async def page(tx: Tx, wanted: TicketFilter, author_id: int | None = None) -> list[Ticket]:
    """Tickets of a filter, of this author where one is named, the newest first."""
    rows = await tx.fetch(
        _PAGE,
        author_id,
        wanted.before,
        wanted.status,
        wanted.category,
        wanted.assignee_id,
        wanted.text,
        wanted.limit,
    )
    return [_ticket(row) for row in rows]


async def waiting(tx: Tx) -> list[Waiting]:
    """Open tickets and open reports by their number, with the time of the oldest."""
    return [Waiting(**row) for row in await tx.fetch(_WAITING)]


async def count_open(tx: Tx, author_id: int) -> int:
    """The number of open tickets of an account."""
    found: int = await tx.fetchval(_COUNT_OPEN, author_id)
    return found


async def opening_wait(tx: Tx, author_id: int, hourly_max: int) -> int | None:
    """Seconds until an account may open another ticket; None where it may now."""
    wait: int | None = await tx.fetchval(_OPENED_WAIT, author_id, hourly_max - 1)
    return wait


async def writing_wait(tx: Tx, author_id: int, hourly_max: int) -> int | None:
    """Seconds until an account may write another message; None where it may now."""
    wait: int | None = await tx.fetchval(_WRITTEN_WAIT, author_id, hourly_max - 1)
    return wait


async def messages(tx: Tx, ticket_id: UUID) -> list[Message]:
    """The messages of a ticket, oldest first."""
    rows = await tx.fetch(
        "SELECT id, author_id, staff_id, body, created_at FROM support_message WHERE ticket_id = $1 ORDER BY seq",
        ticket_id,
    )
    return [Message(**row) for row in rows]


async def notes(tx: Tx, ticket_id: UUID) -> list[Note]:
    """The notes on a ticket, oldest first."""
    rows = await tx.fetch(
        "SELECT id, staff_id, body, created_at FROM support_note WHERE ticket_id = $1 ORDER BY seq",
        ticket_id,
    )
    return [Note(**row) for row in rows]


async def moves(tx: Tx, ticket_id: UUID) -> list[Move]:
    """The states of a ticket, oldest first."""
    rows = await tx.fetch(
        "SELECT status, moved_by, moved_at FROM support_move WHERE ticket_id = $1 ORDER BY seq", ticket_id
    )
    return [Move(**row) for row in rows]


async def count_messages(tx: Tx, ticket_id: UUID) -> int:
    """The number of messages of a ticket."""
    found: int = await tx.fetchval("SELECT count(*) FROM support_message WHERE ticket_id = $1", ticket_id)
    return found


async def count_notes(tx: Tx, ticket_id: UUID) -> int:
    """The number of notes on a ticket."""
    found: int = await tx.fetchval("SELECT count(*) FROM support_note WHERE ticket_id = $1", ticket_id)
    return found


async def write_message(
    tx: Tx, ticket_id: UUID, body: str, *, author_id: int | None = None, staff_id: int | None = None
) -> None:
    """Add a message to a locked ticket."""
    await tx.execute(_WRITE, ticket_id, author_id, staff_id, body)
    await tx.execute("UPDATE support_ticket SET updated_at = clock_timestamp() WHERE id = $1", ticket_id)


async def write_note(tx: Tx, ticket_id: UUID, staff_id: int, body: str) -> None:
    """Add a note to a locked ticket."""
    await tx.execute(
        "INSERT INTO support_note (ticket_id, staff_id, body) VALUES ($1, $2, $3)", ticket_id, staff_id, body
    )


async def note_answer(tx: Tx, ticket_id: UUID) -> Ticket:
    """Note the first answer of the support in a locked ticket."""
    row = await tx.fetchrow(_ANSWERED, ticket_id)
    assert row is not None
    return _ticket(row)


async def move(tx: Tx, ticket_id: UUID, status: Status, moved_by: MovedBy) -> Ticket | None:
    """Lead a locked ticket to another state; None where it has that state."""
    row = await tx.fetchrow(_MOVE, ticket_id, status)
    if row is None:
        return None
    await tx.execute(_RECORD_MOVE, ticket_id, status, moved_by)
    return _ticket(row)


async def sort(tx: Tx, ticket: Ticket, changes: Changes) -> Ticket:
    """Write priority and assignee of a locked ticket, those that change."""
    priority = ticket.priority if changes.priority is msgspec.UNSET else changes.priority
    assignee_id = ticket.assignee_id if changes.assignee_id is msgspec.UNSET else changes.assignee_id
    row = await tx.fetchrow(_SORT, ticket.id, priority, assignee_id)
    assert row is not None
    return _ticket(row)


async def lock_due(tx: Tx) -> Sequence[UUID]:
    """Resolved tickets that are due to close, those resolved first first."""
    return [row["id"] for row in await tx.fetch(_LOCK_DUE)]


async def erase(tx: Tx, developer_id: int) -> None:
    """Delete the tickets of an account, and its name in the work of the support."""
    for statement in _ERASE:
        await tx.execute(statement, developer_id)


def _ticket(row: asyncpg.Record) -> Ticket:
    named = ("related_type", "related_id")
    members = {name: value for name, value in row.items() if name not in named}
    related = None if row["related_id"] is None else Related(row["related_type"], row["related_id"])
    return Ticket(**members, related=related)
