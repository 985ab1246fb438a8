"""The statements on sessions and their refresh tokens."""

from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer

from . import phones
from .store import DEVELOPER_COLUMNS, developer_of

_OF_OPEN_SESSION = f"""
SELECT {DEVELOPER_COLUMNS} FROM people_session s JOIN people_developer d ON d.id = s.developer_id
WHERE s.id = $2 AND d.id = $1 AND d.closed_at IS NULL AND s.ended_at IS NULL AND to_timestamp($3::bigint) > clock_timestamp()
"""  # noqa: S608


class OpenSession(msgspec.Struct, frozen=True):
    """A session as its owner sees it."""

    id: UUID
    opened_at: datetime
    continued_at: datetime
    client: str
    address: str


class Session(msgspec.Struct, frozen=True):
    """A login that lasts. `now` is the database's time."""

    id: UUID
    developer_id: int
    now: datetime


async def open_session(tx: Tx, developer_id: int, client: str, address: str, *, gave_code: bool) -> Session:
    """A new session, with the moment of the code that its login gave."""
    row = await tx.fetchrow(
        "INSERT INTO people_session (developer_id, client, address, second_factor_at)"
        " VALUES ($1, $2, $3, CASE WHEN $4 THEN clock_timestamp() END)"
        " RETURNING id, developer_id, opened_at AS now",
        developer_id,
        client,
        address,
        gave_code,
    )
    assert row is not None
    return Session(**row)


async def end_sessions(tx: Tx, developer_id: int) -> None:
    """End every open session of the developer, and the logins that are half done."""
    await tx.execute(
        "UPDATE people_session SET ended_at = now() WHERE developer_id = $1 AND ended_at IS NULL",
        developer_id,
    )
    await tx.execute("DELETE FROM people_partial_token WHERE developer_id = $1", developer_id)
    await phones.cancel_logins(tx, developer_id)


async def end_session(tx: Tx, developer_id: int, session_id: UUID) -> bool:
    ended = await tx.fetchval(
        "UPDATE people_session SET ended_at = now()"
        " WHERE id = $2 AND developer_id = $1 AND ended_at IS NULL RETURNING true",
        developer_id,
        session_id,
    )
    return ended is not None


async def open_sessions(
    tx: Tx, developer_id: int, idle_days: int, limit: int, offset: int
) -> list[OpenSession]:
    """Sessions that a token can still continue, the one used last first; by the index of open ones.

    Those of browsers have an expiry of their own.
    """
    rows = await tx.fetch(
        "SELECT id, opened_at, continued_at, client, address FROM people_session"
        " WHERE developer_id = $1 AND ended_at IS NULL AND continued_at > now() - make_interval(days => $2)"
        " AND (expires_at IS NULL OR expires_at > clock_timestamp())"
        " ORDER BY continued_at DESC, id LIMIT $3 OFFSET $4",
        developer_id,
        idle_days,
        limit,
        offset,
    )
    return [OpenSession(**row) for row in rows]


async def count_open_sessions(tx: Tx, developer_id: int, idle_days: int) -> int:
    count: int = await tx.fetchval(
        "SELECT count(*) FROM people_session"
        " WHERE developer_id = $1 AND ended_at IS NULL AND continued_at > now() - make_interval(days => $2)"
        " AND (expires_at IS NULL OR expires_at > clock_timestamp())",
        developer_id,
        idle_days,
    )
    return count


async def add_refresh_token(tx: Tx, session_id: UUID, token_hash: bytes, lifetime_days: int) -> None:
    await tx.execute(
        "INSERT INTO people_refresh_token (token_hash, session_id, expires_at)"
        " VALUES ($1, $2, now() + make_interval(days => $3))",
        token_hash,
        session_id,
        lifetime_days,
    )


async def use_refresh_token(tx: Tx, token_hash: bytes) -> Session | None:
    """Burn an unused token of an open session; a rival waits on the row and then finds it used."""
    row = await tx.fetchrow(
        "WITH used AS (UPDATE people_refresh_token SET used_at = now()"
        " WHERE token_hash = $1 AND used_at IS NULL AND expires_at > clock_timestamp() RETURNING session_id)"
        " UPDATE people_session s SET continued_at = now() FROM used"
        " WHERE s.id = used.session_id AND s.ended_at IS NULL RETURNING s.id, s.developer_id, now() AS now",
        token_hash,
    )
    return Session(**row) if row else None


async def end_session_of_used_token(tx: Tx, token_hash: bytes) -> None:
    await tx.execute(
        "UPDATE people_session s SET ended_at = now() FROM people_refresh_token r"
        " WHERE r.token_hash = $1 AND r.used_at IS NOT NULL AND s.id = r.session_id AND s.ended_at IS NULL",
        token_hash,
    )


async def developer_in_session(
    tx: Tx, developer_id: int, session_id: UUID, expires_at: int
) -> Developer | None:
    """The developer, while the session is open and its token (epoch seconds) has not expired."""
    row = await tx.fetchrow(
        _OF_OPEN_SESSION,
        developer_id,
        session_id,
        expires_at,
    )
    return developer_of(dict(row)) if row else None
