"""The statements on grants of connected clients, their codes and refresh tokens, and on metadata documents of clients.

Locks: a code or a refresh token, then its grant. An end is one conditional UPDATE, of which a payment under the grant waits for
the other.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.connections import GrantBounds
from hansa.foundation.values.money import Minor

from .records import ConnectionRow, Limits

CODE_SECONDS = 60
REUSE_SECONDS = 10
ENDED_DAYS = 90

_LIVES = "g.ended_at IS NULL AND g.ends_at > clock_timestamp()"
_COLUMNS = """
g.id, g.client_id, g.client_host, g.client_name, g.agent_did, g.scopes, g.per_call, g.per_day, g.ask_above, g.created_at,
g.last_used_at, g.ends_at
"""

_ADD = f"""
INSERT INTO people_grant AS g (developer_id, client_id, client_host, client_name, agent_did, scopes, per_call, per_day,
  ask_above, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(days => $10)) RETURNING {_COLUMNS}
"""  # noqa: S608

_ADD_CODE = """
INSERT INTO people_grant_code (code_hash, grant_id, redirect_uri, challenge, consent_hash, expires_at)
VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6)) ON CONFLICT (consent_hash) DO NOTHING RETURNING true
"""

_LOCK_CODE = f"""
SELECT c.redirect_uri, c.challenge, c.used_at IS NOT NULL AS is_used, c.expires_at <= clock_timestamp() AS is_past,
  g.developer_id, {_LIVES} AS lives, clock_timestamp() AS now, {_COLUMNS}
FROM people_grant_code c JOIN people_grant g ON g.id = c.grant_id WHERE c.code_hash = $1 FOR UPDATE OF c, g
"""  # noqa: S608

_LOCK_TOKEN = f"""
SELECT t.used_at IS NOT NULL AS is_used,
  coalesce(t.used_at <= clock_timestamp() - make_interval(secs => {REUSE_SECONDS}), false) AS is_past,
  g.developer_id, {_LIVES} AS lives, clock_timestamp() AS now, {_COLUMNS}
FROM people_grant_token t JOIN people_grant g ON g.id = t.grant_id WHERE t.token_hash = $1 FOR UPDATE OF t, g
"""  # noqa: S608

_ACCESS = f"""
SELECT d.id AS developer_id, d.email, d.is_verified, plumbing_is_barred_author(d.id) AS is_suspended,
  g.last_used_at IS NULL OR g.last_used_at < now() - interval '1 minute' AS is_idle, {_COLUMNS}
FROM people_grant g JOIN people_developer d ON d.id = g.developer_id
WHERE g.id = $1 AND {_LIVES} AND d.closed_at IS NULL AND to_timestamp($2::bigint) > clock_timestamp()
"""  # noqa: S608

_BOUNDS = f"""
SELECT g.developer_id, g.agent_did, g.per_call, g.per_day, g.ask_above FROM people_grant g
WHERE g.id = $1 AND {_LIVES} AND NOT plumbing_is_barred_author(g.developer_id)
"""  # noqa: S608

_LIVING = f"""
SELECT {_COLUMNS} FROM people_grant g WHERE g.developer_id = $1 AND {_LIVES} ORDER BY g.created_at DESC, g.id LIMIT $2 OFFSET $3
"""  # noqa: S608

_COUNT = f"SELECT count(*) FROM people_grant g WHERE g.developer_id = $1 AND {_LIVES}"  # noqa: S608

_LOCK_OWN = (
    f"SELECT {_COLUMNS} FROM people_grant g WHERE g.developer_id = $1 AND g.id = $2 AND {_LIVES} FOR UPDATE"  # noqa: S608
)

_CHANGE = f"""
UPDATE people_grant g SET scopes = $2, per_call = $3, per_day = $4, ask_above = $5 WHERE g.id = $1 AND {_LIVES}
RETURNING {_COLUMNS}
"""  # noqa: S608

_END = """
UPDATE people_grant g SET ended_at = clock_timestamp(), ended_because = $2 WHERE g.ended_at IS NULL AND {which}
RETURNING g.id, g.developer_id, g.agent_did, g.client_host, g.client_name, g.ended_because
"""

# A grant whose code was never exchanged connects nothing.
_PAST = """
SELECT g.id FROM people_grant g WHERE g.ended_at IS NULL AND (g.ends_at <= clock_timestamp() OR g.last_used_at IS NULL
  AND EXISTS (SELECT FROM people_grant_code c WHERE c.grant_id = g.id AND c.used_at IS NULL AND c.expires_at <= clock_timestamp()))
ORDER BY g.id LIMIT 1000 FOR UPDATE SKIP LOCKED
"""

_FORGET = (
    "DELETE FROM people_grant_token t USING people_grant g WHERE g.id = t.grant_id AND {which}",
    "DELETE FROM people_grant_code c USING people_grant g WHERE g.id = c.grant_id AND {which}",
    "DELETE FROM people_grant g WHERE {which}",
)


class NewGrant(msgspec.Struct, frozen=True):
    """A grant to be written."""

    developer_id: int
    client_id: str
    client_host: str | None
    client_name: str
    agent_did: str | None
    scopes: tuple[str, ...]
    limits: Limits
    days: int


class NewCode(msgspec.Struct, frozen=True):
    """A code to be written; a consent has one code."""

    code_hash: bytes
    grant_id: UUID
    redirect_uri: str
    challenge: str
    consent_hash: bytes


class LockedCode(msgspec.Struct, frozen=True):
    """A code with its grant, both locked; `now` is the database's time."""

    redirect_uri: str
    challenge: str
    is_used: bool
    is_past: bool
    developer_id: int
    lives: bool
    now: datetime
    connection: ConnectionRow


class LockedToken(msgspec.Struct, frozen=True):
    """A refresh token with its grant, both locked; `is_past`: its use was more than ten seconds ago."""

    is_used: bool
    is_past: bool
    developer_id: int
    lives: bool
    now: datetime
    connection: ConnectionRow


class Accessed(msgspec.Struct, frozen=True):
    """A living grant with its developer, at a call; `is_idle`: its last use was not noted in this minute."""

    developer_id: int
    email: str
    is_verified: bool
    is_suspended: bool
    is_idle: bool
    connection: ConnectionRow


class Ended(msgspec.Struct, frozen=True):
    """A grant that ended now."""

    id: UUID
    developer_id: int
    agent_did: str | None
    client_host: str | None
    client_name: str
    ended_because: str


_WithConnection = TypeVar("_WithConnection", LockedCode, LockedToken, Accessed)


class ClientDocument(msgspec.Struct, frozen=True):
    """The metadata document of a client, as it was fetched."""

    client_name: str
    redirect_uris: tuple[str, ...]


async def add_grant(tx: Tx, new: NewGrant) -> ConnectionRow:
    """Write a grant."""
    limits = new.limits
    row = await tx.fetchrow(
        _ADD,
        new.developer_id,
        new.client_id,
        new.client_host,
        new.client_name,
        new.agent_did,
        list(new.scopes),
        limits.per_call,
        limits.per_day,
        limits.ask_above,
        new.days,
    )
    assert row is not None
    return _connection(dict(row))


async def add_code(tx: Tx, new: NewCode) -> bool:
    """Write the code of a new grant; false where its consent has a code already."""
    added = await tx.fetchval(
        _ADD_CODE,
        new.code_hash,
        new.grant_id,
        new.redirect_uri,
        new.challenge,
        new.consent_hash,
        CODE_SECONDS,
    )
    return added is not None


async def lock_code(tx: Tx, code_hash: bytes) -> LockedCode | None:
    return _read_as(LockedCode, await tx.fetchrow(_LOCK_CODE, code_hash))


async def use_code(tx: Tx, code_hash: bytes) -> None:
    """Use up a locked code."""
    await tx.execute(
        "UPDATE people_grant_code SET used_at = clock_timestamp() WHERE code_hash = $1 AND used_at IS NULL",
        code_hash,
    )


async def lock_token(tx: Tx, token_hash: bytes) -> LockedToken | None:
    return _read_as(LockedToken, await tx.fetchrow(_LOCK_TOKEN, token_hash))


async def use_token(tx: Tx, token_hash: bytes) -> None:
    """Use up a locked refresh token."""
    await tx.execute(
        "UPDATE people_grant_token SET used_at = clock_timestamp() WHERE token_hash = $1 AND used_at IS NULL",
        token_hash,
    )


async def add_token(tx: Tx, token_hash: bytes, grant_id: UUID) -> None:
    """Write the next refresh token of a grant, which is used now."""
    await tx.execute(
        "INSERT INTO people_grant_token (token_hash, grant_id) VALUES ($1, $2)", token_hash, grant_id
    )
    await note_use(tx, grant_id)


async def accessed(tx: Tx, grant_id: UUID, expires_at: int) -> Accessed | None:
    """The living grant of an access token that has not expired by the database's clock."""
    return _read_as(Accessed, await tx.fetchrow(_ACCESS, grant_id, expires_at))


async def note_use(tx: Tx, grant_id: UUID) -> None:
    await tx.execute(
        "UPDATE people_grant SET last_used_at = clock_timestamp() WHERE id = $1 AND ended_at IS NULL",
        grant_id,
    )


async def bounds(tx: Tx, grant_id: UUID, *, locked: bool) -> GrantBounds | None:
    """The limits of a living grant of a developer who is not suspended, which stay as they are with `locked`."""
    row = await tx.fetchrow(f"{_BOUNDS} FOR UPDATE OF g" if locked else _BOUNDS, grant_id)
    return None if row is None else GrantBounds(**row)


async def has_ended(tx: Tx, grant_id: UUID) -> bool:
    """Return whether the grant has ended, or there is none."""
    lives: bool = await tx.fetchval(
        f"SELECT EXISTS (SELECT FROM people_grant g WHERE g.id = $1 AND {_LIVES})",  # noqa: S608
        grant_id,
    )
    return not lives


async def living(tx: Tx, developer_id: int, *, limit: int, offset: int) -> tuple[list[ConnectionRow], int]:
    """A page of the living grants of a person, newest first, and how many there are."""
    rows = await tx.fetch(_LIVING, developer_id, limit, offset)
    return [_connection(dict(row)) for row in rows], await tx.fetchval(_COUNT, developer_id)


async def lock_developer(tx: Tx, developer_id: int) -> None:
    """Grants of one person follow each other."""
    await tx.execute("SELECT FROM people_developer WHERE id = $1 FOR NO KEY UPDATE", developer_id)


async def lock_own(tx: Tx, developer_id: int, grant_id: UUID) -> ConnectionRow | None:
    """A living grant of this person, locked."""
    row = await tx.fetchrow(_LOCK_OWN, developer_id, grant_id)
    return None if row is None else _connection(dict(row))


async def change(tx: Tx, grant_id: UUID, scopes: Sequence[str], limits: Limits) -> ConnectionRow:
    """Write scopes and limits of a locked grant."""
    row = await tx.fetchrow(
        _CHANGE, grant_id, list(scopes), limits.per_call, limits.per_day, limits.ask_above
    )
    assert row is not None
    return _connection(dict(row))


async def end(tx: Tx, grant_id: UUID, because: str) -> list[Ended]:
    return _ended(await tx.fetch(_END.format(which="g.id = $1"), grant_id, because))


async def end_of_developer(tx: Tx, developer_id: int, because: str) -> list[Ended]:
    return _ended(await tx.fetch(_END.format(which="g.developer_id = $1"), developer_id, because))


async def end_of_agent(tx: Tx, agent_did: str, because: str) -> list[Ended]:
    return _ended(await tx.fetch(_END.format(which="g.agent_did = $1"), agent_did, because))


async def end_past(tx: Tx, because: str) -> list[Ended]:
    """End grants whose time is over, and those whose code was not exchanged in time."""
    past = [row["id"] for row in await tx.fetch(_PAST)]
    return _ended(await tx.fetch(_END.format(which="g.id = ANY ($1)"), past, because))


async def forget_ended(tx: Tx) -> None:
    """Delete grants that ended long ago, and documents that are fetched anew before their next use."""
    which = f"g.ended_at < now() - interval '{ENDED_DAYS} days'"
    for statement in _FORGET:
        await tx.execute(statement.format(which=which))
    await tx.execute("DELETE FROM people_client_document WHERE expires_at < now()")


async def erase(tx: Tx, developer_id: int) -> None:
    """Delete every grant of a person whose account is closed."""
    for statement in _FORGET:
        await tx.execute(statement.format(which="g.developer_id = $1"), developer_id)


async def find_document(tx: Tx, client_id: str) -> ClientDocument | None:
    """A document that was fetched and is still good."""
    row = await tx.fetchrow(
        "SELECT client_name, redirect_uris FROM people_client_document"
        " WHERE client_id = $1 AND expires_at > clock_timestamp()",
        client_id,
    )
    return None if row is None else ClientDocument(row["client_name"], tuple(row["redirect_uris"]))


async def keep_document(tx: Tx, client_id: str, document: ClientDocument, seconds: int) -> None:
    """Keep a document for so long, in place of the one before."""
    await tx.execute(
        "INSERT INTO people_client_document (client_id, client_name, redirect_uris, expires_at)"
        " VALUES ($1, $2, $3, now() + make_interval(secs => $4)) ON CONFLICT (client_id) DO UPDATE SET"
        " client_name = excluded.client_name, redirect_uris = excluded.redirect_uris, expires_at = excluded.expires_at",
        client_id,
        document.client_name,
        list(document.redirect_uris),
        seconds,
    )


def _connection(row: dict[str, Any]) -> ConnectionRow:
    limits = Limits(*(Minor(row[name]) for name in Limits.__struct_fields__))
    row["scopes"] = tuple(row["scopes"])
    return ConnectionRow(
        **{name: row[name] for name in ConnectionRow.__struct_fields__ if name != "limits"}, limits=limits
    )


def _read_as(kind: type[_WithConnection], row: asyncpg.Record | None) -> _WithConnection | None:
    if row is None:
        return None
    columns = dict(row)
    connection = _connection(columns)
    return kind(
        **{name: columns[name] for name in kind.__struct_fields__ if name != "connection"},
        connection=connection,
    )


def _ended(rows: Sequence[asyncpg.Record]) -> list[Ended]:
    return [Ended(**row) for row in rows]
