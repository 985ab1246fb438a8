"""Every SQL statement about own cards that peers read. All of them read; nothing is locked.

A page ends before the oldest open transaction, so that a reader who goes on after its last card misses none.
"""

from collections.abc import Sequence
from datetime import datetime

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import FIRST_POSITION, first_position
from hansa.rooms.catalogue.changes import TOMBSTONE_DAYS
from hansa.rooms.catalogue.store import CARD_COLUMNS, card_in

from .place import Place
from .records import ExportedCard, FeedPage, Range

PAGE_MAX_BYTES = 6 * 1024 * 1024
"""Of documents; a page of large cards ends early."""

VERSION = "coalesce(c.item_version, c.changed_xid)"
DID_HASH = "encode(sha256(convert_to(c.did, 'UTF8')), 'hex')"

_OWN = "c.source_registry IS NULL AND c.did IS NOT NULL"
_EXPORTED = (
    f"{_OWN} AND NOT (c.status = 'revoked' AND c.hidden_since < now() - interval '{TOMBSTONE_DAYS} days')"
)

# The inner page has one card more than is asked for, and is cut where its documents are too large.
_PAGE = f"""
SELECT {CARD_COLUMNS}, card_data, c.page_position, c.page_version, c.found
FROM (
  SELECT c.*, {VERSION} AS page_version, count(*) OVER () AS found,
    sum(card_bytes) OVER (ORDER BY page_position, id) - card_bytes AS bytes_before
  FROM (
    SELECT c.*, c.{{ordered}} AS page_position FROM catalogue_card c
    WHERE {_EXPORTED} AND (c.{{ordered}}, c.id) > ($1, $2) AND c.{{ordered}} < plumbing_oldest_open()
      AND ($4 = '' OR starts_with({DID_HASH}, $4))
    ORDER BY c.{{ordered}}, c.id LIMIT $3 + 1
  ) c
) c WHERE bytes_before < {PAGE_MAX_BYTES} ORDER BY page_position, c.id LIMIT $3
"""  # noqa: S608

_CARDS = _PAGE.format(ordered="changed_xid")
_ACTS = _PAGE.format(ordered="status_xid")

_NAMED = f"""
SELECT {CARD_COLUMNS}, card_data, c.changed_xid AS page_position, {VERSION} AS page_version
FROM catalogue_card c WHERE {_EXPORTED} AND c.did = ANY ($1::text[]) ORDER BY c.did
"""  # noqa: S608

# The first card changed since a moment, by a transaction that has ended or may still change more.
_POSITION_SINCE = f"""
SELECT least(coalesce(min(c.changed_xid), plumbing_oldest_open()), plumbing_oldest_open())
FROM catalogue_card c WHERE {_OWN} AND c.updated_at >= $1
"""  # noqa: S608

_NEWS = f"""
SELECT ({FIRST_POSITION}) AS epoch, clock_timestamp() AS now, EXISTS (SELECT FROM catalogue_card c
  WHERE {_EXPORTED} AND (c.{{ordered}}, c.id) > ($1, $2) AND c.{{ordered}} < plumbing_oldest_open()) AS has_news
"""  # noqa: S608
_NEW_CARDS = _NEWS.format(ordered="changed_xid")
_NEW_ACTS = _NEWS.format(ordered="status_xid")

_LAST_ACT = f"""
SELECT status_xid, id FROM catalogue_card c WHERE {_OWN} AND status_xid IS NOT NULL ORDER BY status_xid DESC, id DESC LIMIT 1
"""  # noqa: S608

_RANGES = f"""
SELECT prefix, count(*) AS cards, encode(sha256(convert_to(string_agg(did || ' ' || version || chr(10), ''
    ORDER BY did COLLATE "C"), 'UTF8')), 'hex') AS digest
FROM (SELECT c.did, {{version}} AS version, substr({DID_HASH}, 1, length($1) + 1) AS prefix FROM catalogue_card c
  WHERE {{whose}} AND c.is_active AND NOT c.unlisted AND ($1 = '' OR starts_with({DID_HASH}, $1))) c
GROUP BY prefix ORDER BY prefix
"""  # noqa: S608

RANGES_OF_OWN = _RANGES.format(version=VERSION, whose=f"{_OWN} AND c.status <> 'revoked'")
RANGES_OF_MIRRORS = _RANGES.format(version="c.peer_version", whose="c.source_registry = $2")


async def cards_after(tx: Tx, place: Place, limit: int, prefix: str) -> FeedPage:
    """The next cards in the order of their changes."""
    return await _feed(tx, _CARDS, place, limit, prefix)


async def cards_named(tx: Tx, dids: Sequence[str]) -> list[ExportedCard]:
    """The cards with these DIDs, as far as they are exported."""
    return [
        ExportedCard(card_in(row), row["page_version"], row["page_position"])
        for row in await tx.fetch(_NAMED, dids)
    ]


async def acts_after(tx: Tx, place: Place, limit: int) -> FeedPage:
    """The next cards in the order in which their status changed."""
    return await _feed(tx, _ACTS, place, limit, "")


async def has_cards_after(tx: Tx, place: Place) -> tuple[bool, int, datetime]:
    """Return whether `cards_after` has a card with no prefix, of any epoch, and the epoch and time of `epoch_and_time`, in one statement."""
    return await _news(tx, _NEW_CARDS, place)


async def has_acts_after(tx: Tx, place: Place) -> tuple[bool, int, datetime]:
    """The same of `acts_after`."""
    return await _news(tx, _NEW_ACTS, place)


async def epoch_and_time(tx: Tx) -> tuple[int, datetime]:
    """The epoch of the feeds, which grows when the database is restored elsewhere, and the time."""
    return await first_position(tx), await clock.now(tx)


async def position_since(tx: Tx, timestamp: datetime) -> int:
    """Every change since that timestamp has this position or a later one."""
    position: int = await tx.fetchval(_POSITION_SINCE, timestamp)
    return position


async def last_act(tx: Tx) -> tuple[int, int]:
    """The place of the newest change of a status."""
    row = await tx.fetchrow(_LAST_ACT)
    return (0, 0) if row is None else (row["status_xid"], row["id"])


async def ranges_of_own(tx: Tx, prefix: str) -> list[Range]:
    """The ranges below a prefix, of the own cards that are exported with a document."""
    return [Range(**row) for row in await tx.fetch(RANGES_OF_OWN, prefix)]


async def ranges_of_mirrors(tx: Tx, prefix: str, source_registry: str) -> list[Range]:
    """The same ranges of the mirrors of a registry."""
    return [Range(**row) for row in await tx.fetch(RANGES_OF_MIRRORS, prefix, source_registry)]


async def _news(tx: Tx, statement: str, place: Place) -> tuple[bool, int, datetime]:
    row = await tx.fetchrow(statement, place.position, place.card)
    assert row is not None
    return row["has_news"], row["epoch"], row["now"]


async def _feed(tx: Tx, statement: str, place: Place, limit: int, prefix: str) -> FeedPage:
    rows = await tx.fetch(statement, place.position, place.card, limit, prefix)
    cards = [ExportedCard(card_in(row), row["page_version"], row["page_position"]) for row in rows]
    return FeedPage(cards, bool(rows) and rows[0]["found"] > len(rows), cards[-1] if cards else None)
