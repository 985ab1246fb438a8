"""Every SQL statement of the front doors: pages of the agents that may be shown, always by key, never by offset."""

from datetime import datetime
from typing import NamedTuple

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_states import PageState
from hansa.rooms.catalogue.card_rights import owned_by
from hansa.rooms.catalogue.signatures import TOMBSTONE_TIME

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


# The row changes with every version of the document that is kept or erased.
CARD_STATE = PageState(f"""
SELECT c.xmin::text || CASE WHEN c.status = 'revoked' AND c.hidden_since < now() - interval '{TOMBSTONE_TIME.days} days'
  THEN ' not exported' ELSE '' END
FROM catalogue_card c WHERE c.did = asked.did
""")  # noqa: S608
"""The card of an agent, own or mirrored, its earlier versions, and whether it is exported."""


def others_state(limit: int) -> PageState:
    """The newest listed agents of the same owner (`other_agents_of_owner`)."""
    newest = (
        f"o.id <> c.id AND o.did IS NOT NULL AND {_OWN} AND NOT o.is_stub ORDER BY o.id DESC LIMIT {limit}"
    )
    return PageState(f"""
SELECT string_agg(other.row_version, ' ') FROM catalogue_card c, LATERAL (
  (SELECT o.xmin::text AS row_version FROM catalogue_card o
  WHERE {owned_by("c.developer_id", "o.")} AND c.organization_id IS NULL AND {newest})
  UNION ALL (SELECT o.xmin::text FROM catalogue_card o
  WHERE o.organization_id = c.organization_id AND catalogue_is_public_owner(c.organization_id) AND {newest})) other
WHERE c.did = asked.did
""")  # noqa: S608


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
    """Return the ranges of `width` card numbers that hold a card that may be shown."""
    return [row["range"] for row in await tx.fetch(_RANGES, width)]
