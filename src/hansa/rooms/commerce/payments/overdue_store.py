"""SQL of the tokens that jobs take up: those past their expiry, and those that have been settling for long."""

from datetime import UTC, datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx

_SETTLING = """
FROM commerce_payment_token WHERE status = 'settling' AND settling_at <= clock_timestamp() - make_interval(secs => {})
"""

_PAST = "FROM commerce_payment_token WHERE status IN ('authorized', 'consumed') AND expires_at < clock_timestamp()"

_DUE = f"SELECT id, expires_at {_PAST} AND (expires_at, id) > ($1, $2) ORDER BY expires_at, id LIMIT $3"

_PLAIN_DUE = """
UPDATE commerce_payment_token t SET status = 'expired', ended_at = clock_timestamp()
WHERE t.id IN (
    SELECT id FROM commerce_payment_token
    WHERE status IN ('authorized', 'consumed') AND expires_at < clock_timestamp()
      AND NOT is_reserved AND NOT is_counted AND capability_id IS NULL AND grant_id IS NULL
    ORDER BY id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED)
RETURNING 1
"""

_BEFORE_ALL = (datetime.min.replace(tzinfo=UTC), UUID(int=0))


class DueToken(msgspec.Struct, frozen=True):
    """An open token past its expiry."""

    id: UUID
    expires_at: datetime


class SettlingToken(msgspec.Struct, frozen=True):
    """A token that is settling since then."""

    id: UUID
    settling_at: datetime


async def expire_plain(tx: Tx, limit: int) -> int:
    """Expire tokens that reserve and count nothing; returns how many."""
    return len(await tx.fetch(_PLAIN_DUE, limit))


async def due(tx: Tx, after: DueToken | None, limit: int) -> list[DueToken]:
    """Open tokens past their expiry, the oldest expiry first."""
    timestamp, last = (after.expires_at, after.id) if after else _BEFORE_ALL
    return [DueToken(**row) for row in await tx.fetch(_DUE, timestamp, last, limit)]


HAS_DUE = Question(f"SELECT EXISTS (SELECT {_PAST})")
"""Condition that an open token is past its expiry."""


def has_settling(older_than_seconds: float) -> Question:
    """Query that returns whether a token has been settling for so long."""
    return Question(f"SELECT EXISTS (SELECT {_SETTLING.format(older_than_seconds)})")


async def settling(
    tx: Tx, older_than_seconds: float, after: SettlingToken | None, limit: int
) -> list[SettlingToken]:
    """Tokens that have been settling for so long, the oldest first."""
    timestamp, last = (after.settling_at, after.id) if after else _BEFORE_ALL
    rows = await tx.fetch(
        f"SELECT id, settling_at {_SETTLING.format('$1')} AND (settling_at, id) > ($2, $3)"
        " ORDER BY settling_at, id LIMIT $4",
        older_than_seconds,
        timestamp,
        last,
        limit,
    )
    return [SettlingToken(**row) for row in rows]
