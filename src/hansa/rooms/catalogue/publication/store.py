"""Every SQL statement of the front doors: pages of what may be shown, always by key, never by offset."""

from datetime import datetime
from typing import NamedTuple

from hansa.foundation.plumbing.database import Tx

_OWN = "source_registry IS NULL AND is_active AND NOT unlisted AND status = 'active'"

_DESCRIBED = f"""
SELECT id, did, name FROM catalogue_card WHERE {_OWN} AND did IS NOT NULL AND id > $1 ORDER BY id LIMIT $2
"""  # noqa: S608

_PAGES = f"""
SELECT id, did, updated_at FROM catalogue_card WHERE {_OWN} AND id > $1 AND id <= $2 ORDER BY id LIMIT $3
"""  # noqa: S608

# One look into the index for each range, however many cards it holds.
_RANGES = f"""
SELECT range FROM generate_series(0, (SELECT max(id) FROM catalogue_card WHERE {_OWN}) / $1) AS range
WHERE EXISTS (SELECT FROM catalogue_card WHERE {_OWN} AND id > range * $1 AND id <= (range + 1) * $1)
ORDER BY range
"""  # noqa: S608


class Described(NamedTuple):
    """An agent of this registry that has a description of its own."""

    card_id: int
    did: str
    name: str


class PageOfAgent(NamedTuple):
    """An agent with a page on the web, and when its card last changed."""

    card_id: int
    did: str | None
    changed_at: datetime


async def described_after(tx: Tx, card_id: int, limit: int) -> list[Described]:
    """Agents of this registry that may be shown, from the card after `card_id` on, the oldest first."""
    return [Described(*row) for row in await tx.fetch(_DESCRIBED, card_id, limit)]


async def pages_between(tx: Tx, after: int, last: int, limit: int) -> list[PageOfAgent]:
    """Cards of this registry that may be shown, with numbers above `after` up to `last`."""
    return [PageOfAgent(*row) for row in await tx.fetch(_PAGES, after, last, limit)]


async def ranges_in_use(tx: Tx, width: int) -> list[int]:
    """Which ranges of `width` card numbers hold a card that may be shown."""
    return [row["range"] for row in await tx.fetch(_RANGES, width)]
