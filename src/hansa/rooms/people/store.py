"""The statements on accounts, their keys, links and partial tokens; `session_store` has those on sessions.

Locked in this order: the developer, the partial token, the second factor; refresh locks its token before its session. A
change of the password waits for the logins under way and ends their sessions too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_facts import PageFact
from hansa.foundation.plumbing.web.caller import Developer

# The areas that a developer `d` administers now, whether a suspension withholds them, and whether there is one.
AREAS_COLUMNS = """
CASE WHEN d.areas <> '{}' AND plumbing_is_barred_author(d.id) THEN '{}' ELSE d.areas END AS areas,
d.areas <> '{}' AND plumbing_is_barred_author(d.id) AS are_areas_withheld,
plumbing_is_barred_author(d.id) AS is_suspended
"""


def second_factor_columns(credential: str) -> str:
    """Authenticator app of a developer `d`, and the moment of the code or approval behind a credential (alias), while app or phone is there."""
    return f"""
EXISTS (SELECT 1 FROM people_second_factor f WHERE f.developer_id = d.id AND f.enabled_at IS NOT NULL) AS has_second_factor,
CASE WHEN EXISTS (SELECT 1 FROM people_second_factor f WHERE f.developer_id = d.id
  AND f.enabled_at <= {credential}.second_factor_at)
  OR EXISTS (SELECT 1 FROM people_phone_device f WHERE f.developer_id = d.id AND f.created_at <= {credential}.second_factor_at)
  THEN {credential}.second_factor_at END AS second_factor_at
"""  # noqa: S608


# A developer `d` in a session `s`, for `developer_of`.
DEVELOPER_COLUMNS = f"""
d.id, d.email, s.id::text AS session, d.is_verified, d.is_admin, {AREAS_COLUMNS}, {second_factor_columns("s")}
"""


@dataclass(frozen=True)
class NewDeveloper:
    """Row of a developer at registration."""

    name: str
    name_as_written: bytes
    name_in_lower_case: bytes
    email: str
    password_hash: str = field(repr=False)
    is_verified: bool
    age_confirmed: bool
    tos_version: str | None
    is_admin: bool = False
    areas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Account:
    """Row of a developer that login reads."""

    id: int
    email: str
    name: str
    password_hash: str = field(repr=False)
    is_verified: bool


class Administrator(msgspec.Struct, frozen=True):
    """An open account that administers `areas`, none of them while it is suspended."""

    id: int
    name: str
    email: str
    areas: list[str]
    has_second_factor: bool
    is_suspended: bool


class Profile(msgspec.Struct, frozen=True):
    """Profile of a developer, as shown to themselves."""

    id: int
    name: str
    email: str
    is_verified: bool
    tos_version: str | None
    tos_accepted_at: datetime | None
    created_at: datetime
    recovery_key_hashes: Sequence[bytes]


class VerificationLink(msgspec.Struct, frozen=True):
    """A link that was mailed, and how its account stands."""

    developer_id: int
    is_verified: bool


async def add_developer(tx: Tx, new: NewDeveloper) -> int | None:
    """The new id, or None when a unique key is taken: waits for a rival registration to commit or fail."""
    developer_id: int | None = await tx.fetchval(
        "INSERT INTO people_developer (name, name_as_written, name_in_lower_case, email, password_hash, is_verified,"
        " age_confirmed, tos_version, tos_accepted_at, is_admin, areas)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text, CASE WHEN $8 IS NOT NULL THEN now() END, $9, $10)"
        " ON CONFLICT DO NOTHING RETURNING id",
        new.name,
        new.name_as_written,
        new.name_in_lower_case,
        new.email,
        new.password_hash,
        new.is_verified,
        new.age_confirmed,
        new.tos_version,
        new.is_admin,
        list(new.areas),
    )
    return developer_id


async def add_recovery_keys(tx: Tx, developer_id: int, key_hashes: list[bytes]) -> None:
    await tx.execute(
        "INSERT INTO people_recovery_key (key_hash, developer_id) SELECT unnest($2::bytea[]), $1",
        developer_id,
        key_hashes,
    )


async def recovery_keys_of(tx: Tx, developer_id: int) -> list[bytes]:
    rows = await tx.fetch("SELECT key_hash FROM people_recovery_key WHERE developer_id = $1", developer_id)
    return [row["key_hash"] for row in rows]


async def forget_recovery_keys(tx: Tx, developer_id: int) -> None:
    await tx.execute("DELETE FROM people_recovery_key WHERE developer_id = $1", developer_id)


async def burn_recovery_key(tx: Tx, developer_id: int, key_hash: bytes) -> bool:
    burnt = await tx.fetchval(
        "DELETE FROM people_recovery_key WHERE developer_id = $1 AND key_hash = $2 RETURNING true",
        developer_id,
        key_hash,
    )
    return burnt is not None


async def burn_recovery_key_of_address(tx: Tx, email: str, key_hash: bytes) -> int | None:
    """The same lookups for an unknown address, so that it takes as long as a wrong key."""
    developer_id: int | None = await tx.fetchval(
        "DELETE FROM people_recovery_key WHERE key_hash = $2 AND developer_id = coalesce("
        '(SELECT id FROM people_developer WHERE lower(email COLLATE "C") = $1), 0) RETURNING developer_id',
        email.lower(),
        key_hash,
    )
    return developer_id


async def account_of(tx: Tx, email: str) -> Account | None:
    """The account with this address, whatever its case; by the unique index."""
    row = await tx.fetchrow(
        "SELECT id, email, name, password_hash, is_verified FROM people_developer"
        ' WHERE lower(email COLLATE "C") = $1',
        email.lower(),
    )
    return Account(**row) if row else None


async def password_hash_of(tx: Tx, developer_id: int) -> str:
    password_hash: str = await tx.fetchval(
        "SELECT password_hash FROM people_developer WHERE id = $1", developer_id
    )
    return password_hash


TERMS_ACCEPTED = PageFact("SELECT tos_version FROM people_developer WHERE id = asked.developer_id")
"""Version of the terms that a developer accepted last."""

REGISTERED_AT = PageFact("SELECT created_at FROM people_developer WHERE id = asked.developer_id")


async def profile_of(tx: Tx, developer_id: int) -> Profile:
    row = await tx.fetchrow(
        "SELECT id, name, email, is_verified, tos_version, tos_accepted_at, created_at,"
        " ARRAY(SELECT key_hash FROM people_recovery_key WHERE developer_id = $1) AS recovery_key_hashes"
        " FROM people_developer WHERE id = $1",
        developer_id,
    )
    assert row is not None
    return Profile(**row)


async def accept_terms(tx: Tx, developer_id: int, version: str) -> bool:
    """Write the accepted version with its time; False where the account is closed. A version keeps the time of its first acceptance."""
    accepted = await tx.fetchval(
        "UPDATE people_developer SET tos_version = $2,"
        " tos_accepted_at = CASE WHEN tos_version = $2 THEN coalesce(tos_accepted_at, now()) ELSE now() END"
        " WHERE id = $1 AND closed_at IS NULL RETURNING true",
        developer_id,
        version,
    )
    return accepted is not None


async def names_of(tx: Tx, developer_ids: Sequence[int]) -> dict[int, str]:
    """Display names by developer; closed accounts are left out."""
    rows = await tx.fetch(
        "SELECT id, name FROM people_developer WHERE id = ANY($1) AND closed_at IS NULL", list(developer_ids)
    )
    return {row["id"]: row["name"] for row in rows}


async def addresses_of(tx: Tx, developer_ids: Sequence[int]) -> dict[int, str]:
    """E-mail addresses in lower case by developer; closed accounts are left out."""
    rows = await tx.fetch(
        "SELECT id, lower(email) AS email FROM people_developer WHERE id = ANY($1) AND closed_at IS NULL",
        list(developer_ids),
    )
    return {row["id"]: row["email"] for row in rows}


async def add_verification_link(tx: Tx, developer_id: int, token_hash: bytes, lifetime_hours: int) -> None:
    await tx.execute(
        "INSERT INTO people_verification_link (token_hash, developer_id, expires_at)"
        " VALUES ($1, $2, now() + make_interval(hours => $3))",
        token_hash,
        developer_id,
        lifetime_hours,
    )


async def claim_resend(tx: Tx, developer_id: int, pause_minutes: int) -> bool:
    """Claim a verification mail; return whether one is due, counted from the last one. Registration mails the first.

    True for one of several requests at the same moment.
    """
    claimed = await tx.fetchval(
        "UPDATE people_developer SET verification_resent_at = now() WHERE id = $1"
        " AND coalesce(verification_resent_at, created_at) <= now() - make_interval(mins => $2) RETURNING true",
        developer_id,
        pause_minutes,
    )
    return claimed is not None


async def verification_link(tx: Tx, token_hash: bytes) -> VerificationLink | None:
    row = await tx.fetchrow(
        "SELECT d.id AS developer_id, d.is_verified FROM people_verification_link l"
        " JOIN people_developer d ON d.id = l.developer_id WHERE l.token_hash = $1",
        token_hash,
    )
    return VerificationLink(**row) if row else None


async def consume_verification_link(tx: Tx, token_hash: bytes) -> bool:
    """Clear the link's expiry; True for the one visit that finds it set."""
    consumed = await tx.fetchval(
        "UPDATE people_verification_link SET expires_at = NULL"
        " WHERE token_hash = $1 AND expires_at > clock_timestamp() RETURNING true",
        token_hash,
    )
    return consumed is not None


async def mark_verified(tx: Tx, developer_id: int) -> None:
    await tx.execute("UPDATE people_developer SET is_verified = true WHERE id = $1", developer_id)


async def hold_password(tx: Tx, developer_id: int, password_hash: str) -> bool:
    """Return whether this is still the password; if so, it stays until the transaction ends."""
    held = await tx.fetchval(
        "SELECT true FROM people_developer WHERE id = $1 AND password_hash = $2 FOR SHARE",
        developer_id,
        password_hash,
    )
    return held is not None


async def add_partial_token(tx: Tx, developer_id: int, token_hash: bytes, lifetime_seconds: int) -> None:
    await tx.execute(
        "INSERT INTO people_partial_token (token_hash, developer_id, expires_at)"
        " VALUES ($1, $2, now() + make_interval(secs => $3))",
        token_hash,
        developer_id,
        lifetime_seconds,
    )


async def hold_owner_of_partial_token(tx: Tx, token_hash: bytes) -> None:
    """No change of the password comes between this and the end of the transaction."""
    await tx.execute(
        "SELECT FROM people_developer WHERE id ="
        " (SELECT developer_id FROM people_partial_token WHERE token_hash = $1) FOR SHARE",
        token_hash,
    )


async def try_partial_token(tx: Tx, token_hash: bytes, tries_max: int) -> int | None:
    """Count one try and return whose token it is; a rival waits on the row until that try is decided."""
    developer_id: int | None = await tx.fetchval(
        "UPDATE people_partial_token SET tries = tries + 1"
        " WHERE token_hash = $1 AND expires_at > clock_timestamp() AND tries < $2 RETURNING developer_id",
        token_hash,
        tries_max,
    )
    return developer_id


async def lock_partial_token(tx: Tx, token_hash: bytes, tries_max: int) -> int | None:
    """The developer whose token this is, which stays until the transaction ends; None when it is good no more."""
    developer_id: int | None = await tx.fetchval(
        "SELECT developer_id FROM people_partial_token"
        " WHERE token_hash = $1 AND expires_at > clock_timestamp() AND tries < $2 FOR UPDATE",
        token_hash,
        tries_max,
    )
    return developer_id


async def burn_partial_token(tx: Tx, token_hash: bytes) -> None:
    await tx.execute("DELETE FROM people_partial_token WHERE token_hash = $1", token_hash)


async def forget_ended(tx: Tx, idle_days: int, link_days: int) -> None:
    """Delete expired rows whose loss changes no answer."""
    await tx.execute("DELETE FROM people_partial_token WHERE expires_at < now()")
    await tx.execute("DELETE FROM people_refresh_token WHERE expires_at < now()")
    await tx.execute(
        "DELETE FROM people_session s WHERE continued_at < now() - make_interval(days => $1)"
        " AND NOT EXISTS (SELECT FROM people_refresh_token r WHERE r.session_id = s.id)",
        idle_days,
    )
    await tx.execute(
        "DELETE FROM people_verification_link WHERE expires_at < now() - make_interval(days => $1)", link_days
    )


def developer_of(row: Mapping[str, Any]) -> Developer:
    """The developer in a row with DEVELOPER_COLUMNS; other columns are left out."""
    members = {name: row[name] for name in Developer.__struct_fields__ if name in row}
    return Developer(**{**members, "areas": frozenset(row["areas"])})


async def administrators(tx: Tx) -> list[Administrator]:
    """Open accounts that administer anything, by their number."""
    rows = await tx.fetch(
        "SELECT d.id, d.name, d.email, d.areas, plumbing_is_barred_author(d.id) AS is_suspended,"
        " EXISTS (SELECT 1 FROM people_second_factor f WHERE f.developer_id = d.id AND f.enabled_at IS NOT NULL)"
        " OR EXISTS (SELECT 1 FROM people_phone_device f WHERE f.developer_id = d.id) AS has_second_factor FROM people_developer d WHERE d.areas <> '{}' AND d.closed_at IS NULL ORDER BY d.id"
    )
    return [Administrator(**row) for row in rows]


async def lock_areas(tx: Tx, developer_ids: Sequence[int]) -> dict[int, list[str]]:
    """The areas of open accounts, which are locked in the order of their numbers."""
    rows = await tx.fetch(
        "SELECT id, areas FROM people_developer WHERE id = ANY($1) AND closed_at IS NULL ORDER BY id FOR NO KEY UPDATE",
        list(developer_ids),
    )
    return {row["id"]: row["areas"] for row in rows}


async def write_areas(tx: Tx, developer_id: int, areas: Sequence[str]) -> None:
    """Replace the areas of an account that the caller has locked."""
    await tx.execute("UPDATE people_developer SET areas = $2 WHERE id = $1", developer_id, list(areas))


async def has_administrator(tx: Tx) -> bool:
    """Return whether any account administers the registry."""
    found: bool = await tx.fetchval("SELECT EXISTS (SELECT 1 FROM people_developer WHERE is_admin)")
    return found
