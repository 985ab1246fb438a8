"""Every statement on licence keys.

A change is one conditional UPDATE: of two at once the second finds nothing left to change. Two keys for one trust domain
are kept apart by a lock on its name. A use is noted at most once a minute.
"""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

from .records import FoundLicence, Licence

_STATUS = "CASE WHEN status = 'active' AND expires_at <= clock_timestamp() THEN 'expired' ELSE status END"

_SHOWN = (
    f"id, trust_domain, note, {_STATUS} AS status, issued_by, issued_at, expires_at, changed_at, last_used_at"
)

_LOCK_SUBJECT = "SELECT pg_advisory_xact_lock(hashtextextended('federation_licence_key ' || $1, 0))"

_IS_HELD = f"""
SELECT EXISTS (SELECT FROM federation_licence_key WHERE trust_domain = $1 AND {_STATUS} IN ('active', 'suspended'))
"""  # noqa: S608

_ADD = f"""
INSERT INTO federation_licence_key (key_hash, trust_domain, note, issued_by, expires_at)
VALUES ($1, $2, $3, $4, now() + make_interval(days => $5)) RETURNING {_SHOWN}
"""  # noqa: S608

_FIND = f"SELECT {_SHOWN} FROM federation_licence_key WHERE id = $1"  # noqa: S608

_LIST = f"SELECT {_SHOWN} FROM federation_licence_key ORDER BY issued_at DESC, id LIMIT $1 OFFSET $2"  # noqa: S608

_CHANGE = f"""
UPDATE federation_licence_key SET status = $2, changed_at = clock_timestamp() WHERE id = $1 AND status = ANY($3)
RETURNING {_SHOWN}
"""  # noqa: S608

_FIND_PRESENTED = f"""
SELECT id, {_STATUS} AS status, last_used_at IS NULL OR last_used_at < now() - interval '1 minute' AS is_use_due
FROM federation_licence_key WHERE key_hash = $1
"""  # noqa: S608

_NOTE_USE = """
UPDATE federation_licence_key SET last_used_at = now()
WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
"""


async def lock_subject(tx: Tx, trust_domain: str) -> None:
    """Wait for whoever else issues a key to this trust domain."""
    await tx.execute(_LOCK_SUBJECT, trust_domain)


async def is_held(tx: Tx, trust_domain: str) -> bool:
    """Return whether the trust domain has a licence that is neither revoked nor expired."""
    held: bool = await tx.fetchval(_IS_HELD, trust_domain)
    return held


async def add(
    tx: Tx, key_hash: bytes, *, trust_domain: str, note: str | None, issued_by: int, ttl_days: int | None
) -> Licence:
    """Write an admission; without `ttl_days` it does not end."""
    row = await tx.fetchrow(_ADD, key_hash, trust_domain, note, issued_by, ttl_days)
    assert row is not None
    return Licence(**row)


async def find(tx: Tx, licence_id: UUID) -> Licence | None:
    """The admission with this id."""
    row = await tx.fetchrow(_FIND, licence_id)
    return Licence(**row) if row else None


async def page(tx: Tx, *, limit: int, offset: int) -> tuple[list[Licence], int]:
    """A page of admissions, newest first, and how many there are in all."""
    rows = await tx.fetch(_LIST, limit, offset)
    total: int = await tx.fetchval("SELECT count(*) FROM federation_licence_key")
    return [Licence(**row) for row in rows], total


async def change(tx: Tx, licence_id: UUID, status: str, *, when_one_of: tuple[str, ...]) -> Licence | None:
    """Give an admission another status; None when it stands in none of those named."""
    row = await tx.fetchrow(_CHANGE, licence_id, status, list(when_one_of))
    return Licence(**row) if row else None


async def find_presented(tx: Tx, key_hash: bytes) -> FoundLicence | None:
    """Return the record of the key with this hash."""
    row = await tx.fetchrow(_FIND_PRESENTED, key_hash)
    return FoundLicence(**row) if row else None


async def note_use(tx: Tx, licence_id: UUID) -> None:
    """Write that the key was used just now."""
    await tx.execute(_NOTE_USE, licence_id)
