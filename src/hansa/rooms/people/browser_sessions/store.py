"""Statements on sessions of browsers, rows of people_session that have a browser token."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_facts import Facts, PageFact, fact_columns
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.people.store import DEVELOPER_COLUMNS, developer_of

# After the last request, and after the login.
IDLE_MINUTES = 60
LIFETIME_HOURS = 12

_EXPIRY = f"least(now() + interval '{IDLE_MINUTES} minutes', opened_at + interval '{LIFETIME_HOURS} hours')"


_SESSION_COLUMNS = (
    f"{DEVELOPER_COLUMNS}, s.id AS session_id, clock_timestamp() AS now, s.continued_at, s.proved_at"
)

_OPEN_SESSION = """
FROM people_session s JOIN people_developer d ON d.id = s.developer_id CROSS JOIN LATERAL (SELECT d.id AS developer_id) asked
WHERE s.browser_token_hash = $1 AND d.closed_at IS NULL AND s.ended_at IS NULL AND s.expires_at > clock_timestamp()
"""

_CONTINUE = f"""
UPDATE people_session SET continued_at = now(), expires_at = {_EXPIRY}
WHERE id = $1 AND ended_at IS NULL AND expires_at > now()
"""  # noqa: S608


class FoundSession(msgspec.Struct, frozen=True):
    """An open session. `continued_at` is when its idle time began."""

    id: UUID
    developer: Developer
    now: datetime
    continued_at: datetime
    proved_at: datetime
    facts: Facts


async def open_browser_session(
    tx: Tx, developer_id: int, token_hash: bytes, client: str, address: str, *, gave_code: bool
) -> None:
    """A new session of a browser, with the moment of the code that its login gave."""
    await tx.execute(
        "INSERT INTO people_session (developer_id, client, address, browser_token_hash, proved_at, expires_at,"
        " second_factor_at) VALUES ($1, $2, $3, $4, now(), now() + make_interval(mins => $5),"
        " CASE WHEN $6 THEN clock_timestamp() END)",
        developer_id,
        client,
        address,
        token_hash,
        IDLE_MINUTES,
        gave_code,
    )


async def browser_session(tx: Tx, token_hash: bytes, facts: Mapping[str, PageFact]) -> FoundSession | None:
    """The open session with this token, by the unique index, and facts of its person."""
    columns = ", ".join((_SESSION_COLUMNS, *fact_columns(facts)))
    row = await tx.fetchrow(f"SELECT {columns} {_OPEN_SESSION}", token_hash)
    if row is None:
        return None
    return FoundSession(
        row["session_id"],
        developer_of(dict(row)),
        row["now"],
        row["continued_at"],
        row["proved_at"],
        {name: row[name] for name in facts},
    )


async def continue_browser_session(tx: Tx, session_id: UUID) -> None:
    """Begin the idle time again; a session that has ended stays so."""
    await tx.execute(
        _CONTINUE,
        session_id,
    )


async def note_proof(tx: Tx, developer_id: int, session_id: UUID, password_hash: str) -> bool:
    """Note a proof of the password as of now; return whether the session is still open and this still the password."""
    noted = await tx.fetchval(
        "UPDATE people_session s SET proved_at = now() FROM people_developer d"
        " WHERE s.id = $2 AND s.developer_id = $1 AND d.id = $1 AND d.password_hash = $3"
        " AND s.ended_at IS NULL AND s.expires_at > clock_timestamp() RETURNING true",
        developer_id,
        session_id,
        password_hash,
    )
    return noted is not None
