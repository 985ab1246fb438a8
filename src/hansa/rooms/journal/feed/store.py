"""Every SQL statement of the feed. It follows the journal by position: transaction first, then sequence.

Sequence numbers and clocks skip events that commit late. An event is read once its transaction is older than every open one;
from then on nothing can come to stand before it.
"""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import OLDEST_OPEN
from hansa.rooms.journal.expansion import events_of, rows_after
from hansa.rooms.journal.store import COLUMNS, stored


class Place(msgspec.Struct, frozen=True, order=True):
    """A position in the journal; `(xid, 0)` stands before everything of that transaction."""

    xid: int
    seq: int

    @classmethod
    def of(cls, event: StoredEvent) -> "Place":
        return cls(event.xid, event.sequence)


class TicketBearer(msgspec.Struct, frozen=True):
    """Whose ticket was redeemed; `bearer_until` ends the token that it was asked for with."""

    kind: str
    subject: str
    session: str
    bearer_until: datetime
    now: datetime


_ROWS_AFTER = f"""
SELECT e FROM journal_event e WHERE {rows_after("$1", "$2")} AND e.xid < (SELECT {OLDEST_OPEN})
ORDER BY e.xid, e.seq LIMIT $3
"""  # noqa: S608

_AFTER = f"""
SELECT {COLUMNS} FROM {events_of(_ROWS_AFTER)} WHERE (xid, seq) > ($1, $2) ORDER BY xid, seq LIMIT $3
"""  # noqa: S608

_ADD_TICKET = """
INSERT INTO journal_feed_ticket (ticket_sha256, kind, subject, session, bearer_until, expires_at)
VALUES ($1, $2, $3, $4, to_timestamp($5), clock_timestamp() + $6 * interval '1 second')
"""

_USE_TICKET = """
DELETE FROM journal_feed_ticket WHERE ticket_sha256 = $1 AND expires_at > clock_timestamp()
RETURNING kind, subject, session, bearer_until, clock_timestamp() AS now
"""


async def horizon(tx: Tx) -> Place:
    """The place before the oldest open transaction: whatever stands before it is there to stay."""
    xid: int = await tx.fetchval(f"SELECT {OLDEST_OPEN}")
    return Place(xid, 0)


async def events_after(tx: Tx, place: Place, limit: int) -> list[StoredEvent]:
    """The next events in order, up to the oldest open transaction."""
    return stored(await tx.fetch(_AFTER, place.xid, place.seq, limit))


async def add_ticket(
    tx: Tx, ticket_sha256: bytes, *, kind: str, subject: str, session: str, bearer_until: int, seconds: int
) -> None:
    """Keep a ticket; `bearer_until` is in epoch seconds."""
    await tx.execute(_ADD_TICKET, ticket_sha256, kind, subject, session, float(bearer_until), float(seconds))


async def use_ticket(tx: Tx, ticket_sha256: bytes) -> TicketBearer | None:
    """Take a ticket away; None when it is not there any more, or has expired."""
    row = await tx.fetchrow(_USE_TICKET, ticket_sha256)
    return TicketBearer(**row) if row else None


async def forget_tickets(tx: Tx) -> None:
    """Delete expired tickets."""
    await tx.execute(f"DELETE {_EXPIRED}")


_EXPIRED = "FROM journal_feed_ticket WHERE expires_at < clock_timestamp()"

HAS_EXPIRED_TICKET = Question(f"SELECT EXISTS (SELECT {_EXPIRED})")
"""Whether a ticket has expired."""
