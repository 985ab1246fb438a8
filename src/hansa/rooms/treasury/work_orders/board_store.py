"""The SQL of the board of work orders: orders of active organizations, the newest first.

Orders with words or a skill are found by the index of both and sorted, up to a bound. Where there are more, the newest are soon found one by one.
"""

from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total

from .records import BoardFilter, WorkOrder
from .store import COLUMNS, as_order

COUNTED_MAX = 10_000
"""Orders are counted up to here, in a search up to SOUGHT_MAX."""
SOUGHT_MAX = 1_000

_AT_PLACES = f"SELECT {COLUMNS} FROM treasury_work_order w WHERE w.seq = ANY ($1) ORDER BY w.seq DESC"  # noqa: S608

_STATUS, _WORDS, _SKILL = (
    "w.status = {}",
    "w.words @@ plainto_tsquery('simple', {})",
    "w.skill_keys @> ARRAY[lower({})]",
)


async def page(tx: Tx, wanted: BoardFilter) -> tuple[list[WorkOrder], int, bool]:
    """A page of the board, the number of its orders, and whether that is exact and not a bound."""
    if wanted.words is None and wanted.skill is None:
        orders, total = await _walk(tx, wanted, COUNTED_MAX)
        return orders, min(total, COUNTED_MAX), total <= COUNTED_MAX
    where, values = _conditions(wanted)
    seek = f"SELECT w.seq FROM treasury_work_order w WHERE {where} LIMIT {SOUGHT_MAX + 1}"  # noqa: S608
    places = sorted((row["seq"] for row in await tx.fetch(seek, *values)), reverse=True)
    if len(places) > SOUGHT_MAX:
        return (await _walk(tx, wanted, 0))[0], SOUGHT_MAX, False
    rows = await tx.fetch(_AT_PLACES, places[wanted.offset : wanted.offset + wanted.limit])
    return [as_order(row) for row in rows], len(places), True


async def _walk(tx: Tx, wanted: BoardFilter, counted_max: int) -> tuple[list[WorkOrder], int]:
    """A page of the orders from the newest on, and their number, counted to one more than a bound."""
    where, values = _conditions(wanted)
    paging = f"ORDER BY w.seq DESC LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}"
    statement = with_total(
        f"SELECT {COLUMNS} FROM treasury_work_order w WHERE {where} {paging}",  # noqa: S608
        f"SELECT count(*) FROM (SELECT FROM treasury_work_order w WHERE {where} LIMIT {counted_max + 1}) counted",  # noqa: S608
    )
    rows, total = await read_page(tx, statement, *values, wanted.limit, wanted.offset)
    return [as_order(row) for row in rows], total


def _conditions(wanted: BoardFilter) -> tuple[str, list[Any]]:
    """Fixed fragments for the bounds that are set, and their values."""
    fragments, values = ["NOT w.is_hidden"], []
    for fragment, value in ((_STATUS, wanted.status), (_WORDS, wanted.words), (_SKILL, wanted.skill)):
        if value is not None:
            values.append(value)
            fragments.append(fragment.format(f"${len(values)}::text"))
    return " AND ".join(fragments), values
