"""SQL of lists of cards that satisfy conditions, and of their counts.

Searches run under a statement timeout of their own. A condition is chosen from fixed fragments; every value is bound.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx

from .card_conditions import Conditions
from .records import Card, ListedCard
from .store import CARD_COLUMNS, card_in

SEARCH_SECONDS = 5

_COUNT_CLASSES = """
SELECT coalesce(sum(cards), 0)::bigint
FROM (SELECT *, false AS unlisted, 'active' AS status FROM catalogue_card_class) c WHERE {conditions}
"""

_COUNT_CARDS = "SELECT count(*) FROM (SELECT FROM catalogue_card c WHERE {conditions} LIMIT {most} + 1) c"

# In the order in which they are returned: else all that is older is looked at first.
_COUNT_CHANGES = """
SELECT count(*) FROM (SELECT FROM catalogue_card c WHERE {conditions} ORDER BY c.updated_at LIMIT {most} + 1) c
"""

_FIND_CARDS = """
SELECT coalesce(array_agg(c.id ORDER BY c.id DESC), '{{}}')
FROM (SELECT c.id FROM catalogue_card c WHERE {conditions} LIMIT {most} + 1) c
"""


async def count_cards(tx: Tx, conditions: Conditions) -> int:
    """How many cards satisfy the conditions; one more than `counted_max` where they are more and no class."""
    await _bound_search(tx)
    counted = _COUNT_CLASSES if conditions.by_class else _COUNT_CARDS
    total: int = await tx.fetchval(_bounded(counted, conditions), *conditions.values)
    return total


async def count_changes(tx: Tx, conditions: Conditions) -> int:
    """Return the count of `count_cards` for the cards that a reader of changes is about to receive."""
    await _bound_search(tx)
    total: int = await tx.fetchval(_bounded(_COUNT_CHANGES, conditions), *conditions.values)
    return total


async def find_cards(tx: Tx, conditions: Conditions) -> list[int]:
    """The numbers of the cards that satisfy the conditions, the newest first: at most one more than `counted_max`."""
    await _bound_search(tx)
    numbers: list[int] = await tx.fetchval(_bounded(_FIND_CARDS, conditions), *conditions.values)
    return numbers


async def list_newest_first(tx: Tx, conditions: Conditions, *, limit: int, skip: int) -> list[ListedCard]:
    """The cards of a page, the newest first."""
    return await _listed(tx, conditions, "c.id DESC", limit, skip)


async def list_among(tx: Tx, conditions: Conditions, numbers: Sequence[int]) -> list[ListedCard]:
    """Those of the cards with these numbers that satisfy the conditions, the newest first."""
    asked, among = _among(conditions, numbers)
    return await _listed(tx, asked, "c.id DESC", len(numbers), 0, among=among)


async def list_by_change(tx: Tx, conditions: Conditions, *, limit: int, skip: int) -> list[ListedCard]:
    """The cards of a page, the least recently changed first."""
    return await _listed(tx, conditions, "c.updated_at, c.id", limit, skip)


async def read_listed(
    tx: Tx, conditions: Conditions, numbers: Sequence[int], *, with_data: bool
) -> list[Card]:
    """The cards with these numbers, in their order, but those that no longer satisfy the conditions."""
    await _bound_search(tx)
    asked, among = _among(conditions, numbers)
    columns = f"{CARD_COLUMNS}, card_data" if with_data else CARD_COLUMNS
    rows = await tx.fetch(f"SELECT {columns} FROM {among} WHERE {asked.sql}", *asked.values)  # noqa: S608
    cards = {row["card_id"]: card_in(row) for row in rows}
    return [cards[number] for number in numbers if number in cards]


async def cards_by_change(tx: Tx, conditions: Conditions, limit: int) -> list[Card]:
    """Cards without their documents, the least recently changed first."""
    await _bound_search(tx)
    ordered = f"WHERE {conditions.sql} ORDER BY c.updated_at, c.id LIMIT ${len(conditions.values) + 1}"
    rows = await tx.fetch(
        f"SELECT {CARD_COLUMNS} FROM catalogue_card c {ordered}",  # noqa: S608
        *conditions.values,
        limit,
    )
    return [card_in(row) for row in rows]


async def _listed(
    tx: Tx,
    conditions: Conditions,
    order: str,
    limit: int,
    skip: int,
    *,
    among: str = "catalogue_card c",
) -> list[ListedCard]:
    await _bound_search(tx)
    values = (*conditions.values, limit, skip)
    bounds = f"ORDER BY {order} LIMIT ${len(values) - 1} OFFSET ${len(values)}"
    # Skipped cards are not read where an index alone decides.
    page = f"(SELECT c.id AS place FROM {among} WHERE {conditions.sql} {bounds})"  # noqa: S608
    rows = await tx.fetch(
        "SELECT c.id AS card_id, c.updated_at, c.card_bytes"  # noqa: S608
        f" FROM catalogue_card c JOIN {page} page ON c.id = page.place ORDER BY {order}",
        *values,
    )
    return [ListedCard(**row) for row in rows]


def _among(conditions: Conditions, numbers: Sequence[int]) -> tuple[Conditions, str]:
    """Return conditions on the cards with these numbers, and the source to select from: an index of the conditions would be searched as a whole."""
    place = len(conditions.values) + 1
    among = f"(SELECT * FROM catalogue_card WHERE id = ANY (${place}::bigint[]) OFFSET 0) c"  # noqa: S608
    return replace(conditions, values=(*conditions.values, numbers)), among


def _bounded(statement: str, conditions: Conditions) -> str:
    return statement.format(conditions=conditions.sql, most=conditions.counted_max)


async def _bound_search(tx: Tx) -> None:
    await tx.execute(f"SET LOCAL statement_timeout = '{SEARCH_SECONDS}s'")
