"""Every statement on deletions and on the erasure of a person's data in this room.

The sweep that carries a deletion out locks it first, the developer next. Closing an account waits for those who hold the
developer's row shared, such as the creation of an agent under way.
"""

from datetime import datetime
from hashlib import sha256

import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.people.passwords import NOBODYS_HASH

_COLUMNS = "developer_id, status, requested_at, effective_at"

_REQUEST = f"""
INSERT INTO people_deletion AS d (developer_id, status, effective_at, next_try_at)
VALUES ($1, 'requested', now() + make_interval(days => $2), now() + make_interval(days => $2))
ON CONFLICT (developer_id) DO UPDATE SET status = 'requested', requested_at = excluded.requested_at,
  effective_at = excluded.effective_at, next_try_at = excluded.next_try_at, ended_at = NULL
WHERE d.status = 'cancelled' RETURNING {_COLUMNS}
"""  # noqa: S608

_CANCEL = f"""
UPDATE people_deletion SET status = 'cancelled', ended_at = now() WHERE developer_id = $1 AND status = 'requested'
RETURNING {_COLUMNS}
"""  # noqa: S608

_TURN = (
    "FROM people_deletion WHERE status IN ('requested', 'processing') AND next_try_at <= clock_timestamp()"
)

_DUE = f"SELECT {_COLUMNS} {_TURN} ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED"

HAS_DUE = Question(f"SELECT EXISTS (SELECT {_TURN})")
"""Whether the turn of a deletion has come."""

_CLOSE = """
UPDATE people_developer SET closed_at = now(), password_hash = $2, areas = '{}', is_admin = false WHERE id = $1
"""

_REVOKE_INVITES = "UPDATE people_invite SET revoked_at = now() WHERE author_id = $1 AND revoked_at IS NULL"

_ERASE = (
    "DELETE FROM people_refresh_token r USING people_session s WHERE s.id = r.session_id AND s.developer_id = $1",
    "DELETE FROM people_session WHERE developer_id = $1",
    "DELETE FROM people_api_key WHERE developer_id = $1",
    "DELETE FROM people_call WHERE developer_id = $1",
    "DELETE FROM people_recovery_key WHERE developer_id = $1",
    "DELETE FROM people_verification_link WHERE developer_id = $1",
    "DELETE FROM people_second_factor WHERE developer_id = $1",
    "DELETE FROM people_backup_code WHERE developer_id = $1",
    "DELETE FROM people_passkey_challenge WHERE developer_id = $1",
    "DELETE FROM people_phone_login WHERE developer_id = $1",
    "DELETE FROM people_phone_device WHERE developer_id = $1",
    "DELETE FROM people_phone_account WHERE developer_id = $1",
    "DELETE FROM people_partial_token WHERE developer_id = $1",
    "DELETE FROM people_password_grant WHERE developer_id = $1",
    "DELETE FROM people_invite_use WHERE developer_id = $1",
    "UPDATE people_invite SET note = NULL WHERE author_id = $1",
    "DELETE FROM people_forgotten_password f USING people_developer d WHERE d.id = $1 AND lower(f.email) = lower(d.email)",
)

# The name and the address are free for others from now on; nobody can register what stands in their place.
_ERASE_DEVELOPER = """
UPDATE people_developer SET name = '(deleted)', name_as_written = $2, name_in_lower_case = $3,
  email = 'deleted ' || id, is_verified = false, age_confirmed = false, tos_version = NULL, tos_accepted_at = NULL,
  verification_resent_at = NULL, reset_mailed_at = NULL
WHERE id = $1
"""


class Deletion(msgspec.Struct, frozen=True):
    """A deletion that was asked for."""

    developer_id: int
    status: str
    requested_at: datetime
    effective_at: datetime


async def request_deletion(tx: Tx, developer_id: int, cooling_off_days: int) -> Deletion | None:
    """A new deletion; None when one is under way."""
    row = await tx.fetchrow(_REQUEST, developer_id, cooling_off_days)
    return Deletion(**row) if row else None


async def deletion_of(tx: Tx, developer_id: int) -> Deletion | None:
    row = await tx.fetchrow(
        f"SELECT {_COLUMNS} FROM people_deletion WHERE developer_id = $1",  # noqa: S608
        developer_id,
    )
    return Deletion(**row) if row else None


async def cancel_deletion(tx: Tx, developer_id: int) -> Deletion | None:
    """The deletion, cancelled; None when none waits. A sweep that is at it is waited for."""
    row = await tx.fetchrow(_CANCEL, developer_id)
    return Deletion(**row) if row else None


async def lock_due(tx: Tx, limit: int) -> list[Deletion]:
    """Deletions whose turn has come, the longest due first."""
    return [Deletion(**row) for row in await tx.fetch(_DUE, limit)]


async def begin_processing(tx: Tx, developer_id: int, pause_minutes: int) -> None:
    """Mark a locked deletion, whose account is closed, as in process; its data are erased no sooner than after the pause."""
    await tx.execute(
        "UPDATE people_deletion SET status = 'processing', next_try_at = now() + make_interval(mins => $2)"
        " WHERE developer_id = $1",
        developer_id,
        pause_minutes,
    )


async def end_processing(tx: Tx, developer_id: int) -> None:
    """Everything of a locked deletion is done."""
    await tx.execute(
        "UPDATE people_deletion SET status = 'deleted', ended_at = now() WHERE developer_id = $1",
        developer_id,
    )


async def put_off(tx: Tx, developer_id: int, minutes: int) -> None:
    """Try a locked deletion again later."""
    await tx.execute(
        "UPDATE people_deletion SET next_try_at = now() + make_interval(mins => $2) WHERE developer_id = $1",
        developer_id,
        minutes,
    )


async def close_account(tx: Tx, developer_id: int) -> None:
    """Let nothing open the account any more, and nothing that its holder gave out give a right."""
    await tx.execute(_CLOSE, developer_id, NOBODYS_HASH)
    await tx.execute(_REVOKE_INVITES, developer_id)


async def erase_person(tx: Tx, developer_id: int) -> None:
    """Delete or blank all personal data; the number remains."""
    for statement in _ERASE:
        await tx.execute(statement, developer_id)
    erased_names = [
        sha256(f"\0{reading} {developer_id}".encode()).digest() for reading in ("written", "lower")
    ]
    await tx.execute(_ERASE_DEVELOPER, developer_id, *erased_names)


async def share_closed(tx: Tx, developer_id: int) -> bool:
    """Return whether the account is closed; if it is not, no other transaction closes it before this one ends."""
    is_closed: bool = await tx.fetchval(
        "SELECT closed_at IS NOT NULL FROM people_developer WHERE id = $1 FOR SHARE", developer_id
    )
    return is_closed
