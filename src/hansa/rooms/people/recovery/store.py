"""Every statement on people_password_grant and people_forgotten_password, and those that change a password.

The developer is locked before anything else: a change of the password waits for logins under way, and ends them.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx


class Grant(msgspec.Struct, frozen=True):
    """The right to set a password, good once. `issued_at` is the database's time."""

    id: UUID
    developer_id: int
    issued_at: datetime


class Person(msgspec.Struct, frozen=True):
    """Whom to write to."""

    id: int
    email: str
    name: str


async def lock_developer(tx: Tx, developer_id: int) -> None:
    await tx.execute("SELECT FROM people_developer WHERE id = $1 FOR NO KEY UPDATE", developer_id)


async def change_password(tx: Tx, developer_id: int, old_hash: str, new_hash: str) -> bool:
    """Replace the password; False when it is another than that by now."""
    changed = await tx.fetchval(
        "UPDATE people_developer SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING true",
        developer_id,
        old_hash,
        new_hash,
    )
    return changed is not None


async def set_password(tx: Tx, developer_id: int, new_hash: str) -> None:
    await tx.execute("UPDATE people_developer SET password_hash = $2 WHERE id = $1", developer_id, new_hash)


async def add_grant(tx: Tx, developer_id: int, lifetime_seconds: int) -> Grant:
    row = await tx.fetchrow(
        "INSERT INTO people_password_grant (developer_id, expires_at)"
        " VALUES ($1, now() + make_interval(secs => $2)) RETURNING id, developer_id, issued_at",
        developer_id,
        lifetime_seconds,
    )
    assert row is not None
    return Grant(**row)


async def grant_is_good(tx: Tx, developer_id: int, grant_id: UUID, token_expires_at: int) -> bool:
    """Return whether the right is still there, and its token (epoch seconds) has not expired."""
    found = await tx.fetchval(
        "SELECT true FROM people_password_grant"
        " WHERE id = $2 AND developer_id = $1 AND expires_at > clock_timestamp()"
        " AND to_timestamp($3::bigint) > clock_timestamp()",
        developer_id,
        grant_id,
        token_expires_at,
    )
    return found is not None


async def burn_grant(tx: Tx, grant_id: UUID) -> bool:
    burnt = await tx.fetchval(
        "DELETE FROM people_password_grant WHERE id = $1 AND expires_at > clock_timestamp() RETURNING true",
        grant_id,
    )
    return burnt is not None


async def forget_ended(tx: Tx) -> None:
    await tx.execute("DELETE FROM people_password_grant WHERE expires_at < now()")
    await tx.execute("DELETE FROM people_forgotten_password WHERE asked_at < now() - interval '1 day'")


async def burn_grants(tx: Tx, developer_id: int) -> None:
    await tx.execute("DELETE FROM people_password_grant WHERE developer_id = $1", developer_id)


async def remember_forgotten(tx: Tx, email: str) -> int:
    noted_id: int = await tx.fetchval(
        "INSERT INTO people_forgotten_password (email) VALUES ($1) RETURNING id", email
    )
    return noted_id


async def forget_all(tx: Tx) -> None:
    """Answer none of the addresses that were noted."""
    await tx.execute("DELETE FROM people_forgotten_password")


async def take_forgotten(tx: Tx, noted_id: int) -> str | None:
    """The address that was noted, deleted; None when it is answered already."""
    email: str | None = await tx.fetchval(
        "DELETE FROM people_forgotten_password WHERE id = $1 RETURNING email", noted_id
    )
    return email


async def claim_reset_mail(tx: Tx, email: str, pause_minutes: int) -> Person | None:
    """Whom to mail a link, unless nobody has this address or one was mailed to it a moment ago."""
    row = await tx.fetchrow(
        "UPDATE people_developer SET reset_mailed_at = now()"
        ' WHERE lower(email COLLATE "C") = $1'
        " AND (reset_mailed_at IS NULL OR reset_mailed_at <= now() - make_interval(mins => $2))"
        " RETURNING id, email, name",
        email.lower(),
        pause_minutes,
    )
    return Person(**row) if row else None
