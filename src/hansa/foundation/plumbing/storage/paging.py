"""A page of a list with a value of the whole list, such as the number of its entries, in one statement.

The value is found by a statement of its own within it: a window over the page's rows would read every column of all of them.
"""

from typing import Any

from .connection import Tx

TOTAL = "entries_in_all"


def with_total(page: str, total: str) -> str:
    """One statement of these two: `page` with its limit and order, and `total`, which selects one value. They share their parameters.

    The first column of the page is never null.
    """
    return (
        f"SELECT page.*, counted.{TOTAL} FROM ({total}) counted ({TOTAL})"  # noqa: S608
        f" LEFT JOIN LATERAL ({page}) page ON true"
    )


async def read_page(tx: Tx, statement: str, *values: object) -> tuple[list[dict[str, Any]], Any]:
    """The rows of a page and the value of the whole list, by a statement of `with_total`."""
    rows = [dict(row) for row in await tx.fetch(statement, *values)]
    totals = [row.pop(TOTAL) for row in rows]
    return [row for row in rows if next(iter(row.values())) is not None], totals[0]
