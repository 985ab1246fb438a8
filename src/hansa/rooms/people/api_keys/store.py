"""Every statement on API keys.

Making one locks the developer's row, so that two at once are counted one after the other. A use is noted at most once a
minute, so that a busy key is not written for every request.
"""

from collections.abc import Sequence

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.reversible import is_reversible
from hansa.foundation.plumbing.web.caller import API_KEY_SESSION, Developer
from hansa.rooms.people.store import AREAS_COLUMNS, second_factor_columns

from .records import ApiKey, NewKey

_IS_ACTIVE = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())"

_SHOWN = f"""
id, key_prefix, description, {_IS_ACTIVE} AS is_active, created_at, last_used_at, scopes, expires_at,
  coalesce({is_reversible("revoked_at")}, false) AS is_reversible
"""

_ADD = f"""
INSERT INTO people_api_key (developer_id, key_hash, key_prefix, description, scopes, expires_at, second_factor_at)
VALUES ($1, $2, $3, $4, $5, now() + make_interval(days => $6), $7) RETURNING {_SHOWN}
"""  # noqa: S608

_LIST = f"""
SELECT {_SHOWN} FROM people_api_key WHERE developer_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3
"""  # noqa: S608

_REVOKE = f"""
UPDATE people_api_key SET revoked_at = clock_timestamp() WHERE id = $2 AND developer_id = $1 AND revoked_at IS NULL
RETURNING {_SHOWN}
"""  # noqa: S608

_RESTORE = f"""
UPDATE people_api_key SET revoked_at = NULL
WHERE id = $2 AND developer_id = $1 AND {is_reversible("revoked_at")}
  AND (expires_at IS NULL OR expires_at > clock_timestamp()) RETURNING true
"""  # noqa: S608

# One keyed row each: this runs for every request that shows a key.
_BEARERS = f"""
SELECT k.key_hash, k.id AS key_id, k.scopes, d.id, d.email, d.is_verified, {AREAS_COLUMNS}, d.is_admin,
  {second_factor_columns("k")},
  k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute' AS is_use_due
FROM people_api_key k JOIN people_developer d ON d.id = k.developer_id
WHERE d.closed_at IS NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp()) AND
"""  # noqa: S608

# In the order of ids: two processes that note the same keys would otherwise wait for each other.
_NOTE_USE = """
UPDATE people_api_key SET last_used_at = now() WHERE id IN (
  SELECT id FROM people_api_key WHERE id = ANY($1)
    AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
  ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
"""


class KeyBearer(msgspec.Struct, frozen=True):
    """Bearer of a key: the developer, and whether the use has yet to be noted."""

    key_id: int
    developer: Developer
    is_use_due: bool


async def lock_owner(tx: Tx, developer_id: int) -> None:
    """Wait for other transactions that make a key of this account."""
    await tx.execute("SELECT 1 FROM people_developer WHERE id = $1 FOR NO KEY UPDATE", developer_id)


async def active_keys(tx: Tx, developer_id: int) -> int:
    count: int = await tx.fetchval(
        f"SELECT count(*) FROM people_api_key WHERE developer_id = $1 AND {_IS_ACTIVE}",  # noqa: S608
        developer_id,
    )
    return count


async def add_key(tx: Tx, new: NewKey) -> ApiKey:
    row = await tx.fetchrow(
        _ADD,
        new.developer_id,
        new.key_hash,
        new.key_prefix,
        new.description,
        list(new.scopes),
        new.ttl_days,
        new.second_factor_at,
    )
    assert row is not None
    return ApiKey(**row)


async def keys_of(tx: Tx, developer_id: int, *, limit: int, offset: int) -> tuple[list[ApiKey], int]:
    """A page of the developer's keys, newest first, and how many there are in all."""
    rows = await tx.fetch(_LIST, developer_id, limit, offset)
    total: int = await tx.fetchval(
        "SELECT count(*) FROM people_api_key WHERE developer_id = $1", developer_id
    )
    return [ApiKey(**row) for row in rows], total


async def revoke_key(tx: Tx, developer_id: int, key_id: int) -> ApiKey | None:
    """The key, revoked now; None when the developer has none such, or it was revoked before."""
    row = await tx.fetchrow(_REVOKE, developer_id, key_id)
    return ApiKey(**row) if row else None


async def restore_key(tx: Tx, developer_id: int, key_id: int) -> bool:
    """Take the revocation of a key back; False when there is none that may still be undone."""
    return await tx.fetchval(_RESTORE, developer_id, key_id) is not None


async def find_bearers(tx: Tx, key_hashes: Sequence[bytes]) -> dict[bytes, KeyBearer]:
    """Return the bearers of the keys with these hashes; keys that are not good are left out."""
    # Wrapped, so that one plan serves arrays of every length.
    rows = await tx.fetch(f"{_BEARERS} k.key_hash = ANY(ARRAY(SELECT unnest($1::bytea[])))", list(key_hashes))
    return {row["key_hash"]: _bearer(row) for row in rows}


async def find_bearer(tx: Tx, key_id: int) -> KeyBearer | None:
    """Return the bearer of the key with this id, or None when it is not good."""
    row = await tx.fetchrow(f"{_BEARERS} k.id = $1", key_id)
    return _bearer(row) if row else None


async def note_use(tx: Tx, key_ids: Sequence[int]) -> None:
    """Write when these keys were last used; another process may be at it already."""
    await tx.execute(_NOTE_USE, list(key_ids))


def _bearer(row: asyncpg.Record) -> KeyBearer:
    developer = Developer(
        id=row["id"],
        email=row["email"],
        session=f"{API_KEY_SESSION}{row['key_id']}",
        is_verified=row["is_verified"],
        areas=frozenset(row["areas"]),
        is_admin=row["is_admin"],
        scopes=frozenset(row["scopes"]),
        has_second_factor=row["has_second_factor"],
        second_factor_at=row["second_factor_at"],
        are_areas_withheld=row["are_areas_withheld"],
        is_suspended=row["is_suspended"],
    )
    return KeyBearer(row["key_id"], developer, row["is_use_due"])
