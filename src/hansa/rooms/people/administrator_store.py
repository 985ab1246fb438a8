"""The statements on accounts of administrators, for the operator. The operator changes areas one account after the other."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

_LOCK_AREAS = "SELECT pg_advisory_xact_lock(hashtextextended('people: areas of administrators', 1))"

_LOCK_ADMINISTRATOR = """
SELECT id, areas FROM people_developer
WHERE lower(email COLLATE "C") = $1 AND closed_at IS NULL AND areas <> '{}' FOR NO KEY UPDATE
"""

# The areas of an administrator who is suspended are withheld.
_WITHOUT_OTHERS = """
SELECT area FROM unnest($2::text[]) AS area
WHERE NOT EXISTS (SELECT FROM people_developer d
  WHERE area = ANY (d.areas) AND d.id <> $1 AND d.closed_at IS NULL AND NOT plumbing_is_barred_author(d.id))
"""

_REMOVE = "UPDATE people_developer SET areas = '{}', is_admin = false WHERE id = $1"


class LockedAdministrator(msgspec.Struct, frozen=True):
    """An open account that administers areas, locked until the transaction ends."""

    id: int
    areas: Sequence[str]


async def lock_administrator(tx: Tx, email: str) -> LockedAdministrator | None:
    row = await tx.fetchrow(_LOCK_ADMINISTRATOR, email.lower())
    return LockedAdministrator(**row) if row else None


async def lock_areas(tx: Tx) -> None:
    """Let no other command change areas before the transaction ends."""
    await tx.execute(_LOCK_AREAS)


async def areas_without_others(tx: Tx, developer_id: int, areas: Sequence[str]) -> list[str]:
    """Return those of the areas that no other developer administers at present."""
    return [row["area"] for row in await tx.fetch(_WITHOUT_OTHERS, developer_id, list(areas))]


async def remove(tx: Tx, developer_id: int) -> None:
    """Take every area from an account that the caller has locked."""
    await tx.execute(_REMOVE, developer_id)
