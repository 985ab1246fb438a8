"""SQL of the list of developers."""

from hansa.foundation.plumbing.storage.database import Tx

from .records import FoundDeveloper

_COLUMNS = """
SELECT d.id, d.name, CASE WHEN d.closed_at IS NULL THEN d.email ELSE '' END AS email, d.is_verified, d.areas,
  d.created_at, d.closed_at, EXISTS (SELECT FROM people_second_factor f
    WHERE f.developer_id = d.id AND f.enabled_at IS NOT NULL)
  OR EXISTS (SELECT FROM people_phone_device f WHERE f.developer_id = d.id) AS has_second_factor
FROM people_developer d
"""

_MATCHING = """
WHERE $1 = '' OR d.id::text = $1
  OR (d.closed_at IS NULL AND (strpos(lower(d.name), lower($1)) > 0 OR strpos(lower(d.email), lower($1)) > 0))
"""

_COUNT = f"SELECT count(*) FROM people_developer d {_MATCHING}"  # noqa: S608

_PAGE = f"{_COLUMNS} {_MATCHING} ORDER BY d.id DESC LIMIT $2 OFFSET $3"


async def find(tx: Tx, text: str, *, limit: int, offset: int) -> tuple[list[FoundDeveloper], int]:
    """One page, and how many match on every page."""
    rows = await tx.fetch(_PAGE, text, limit, offset)
    total: int = await tx.fetchval(_COUNT, text)
    return [FoundDeveloper(**row) for row in rows], total


async def find_one(tx: Tx, developer_id: int) -> FoundDeveloper | None:
    """One developer, closed accounts as well."""
    row = await tx.fetchrow(f"{_COLUMNS} WHERE d.id = $1", developer_id)
    return FoundDeveloper(**row) if row else None
