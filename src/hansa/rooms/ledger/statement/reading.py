"""Reading an account's transactions."""

import csv
import io
import re
from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount

from . import store
from .records import Line, StatementFilter

CSV_COLUMNS = (
    "transaction_id",
    "timestamp",
    "tx_type",
    "direction",
    "counterparty",
    "counterparty_registry",
    "amount",
    "fee",
    "balance_after",
    "message",
)
# A spreadsheet may start a new cell at a line break or a separator, quoted or not, and read what follows as a formula.
FORMULA = re.compile(
    r"(^|[\r\n\t,;|\v\f\x1c-\x1e\x85\u2028\u2029])([\s\"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])"
)


async def lines_of(tx: Tx, did: str, statement_filter: StatementFilter) -> tuple[list[Line], int]:
    """One page of an account's transactions, newest first, and how many there are in all."""
    return await store.lines(tx, did, statement_filter), await store.count(tx, did, statement_filter)


async def newest_lines(tx: Tx, did: str, limit: int) -> list[Line]:
    """The newest transactions of an account, newest first."""
    return await store.lines(tx, did, StatementFilter(limit))


async def latest_counterparties(tx: Tx, did: str, limit: int) -> list[str]:
    """The other parties of the newest transactions of an account, the newest first."""
    lines = await newest_lines(tx, did, limit)
    return list(dict.fromkeys(line.counterparty for line in lines if line.counterparty))


async def fees_collected(tx: Tx, collector: str) -> Minor:
    """Return the balance of the accounts that collect fees: the fees collected and not paid out."""
    return await store.collected(tx, collector)


def as_csv(lines: Sequence[Line]) -> str:
    """The lines as CSV; text that a spreadsheet would run is made harmless with a leading quote."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    for line in lines:
        writer.writerow(
            [
                f"tx-{line.tx_id}",
                line.recorded_at.isoformat(),
                line.tx_type,
                line.direction,
                line.counterparty or "",
                line.counterparty_registry or "",
                format_amount(line.amount),
                format_amount(line.fee),
                format_amount(line.balance_after),
                _harmless(line.message or ""),
            ]
        )
    return out.getvalue()


def _harmless(text: str) -> str:
    """The text with a quote before each sign that would begin a formula in some cell."""
    guarded = FORMULA.sub(r"\1\2'", text)
    return "'" + guarded if guarded.startswith(("\t", "\r")) else guarded
