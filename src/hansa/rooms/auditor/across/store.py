"""Every statement on comparisons with peers."""

from dataclasses import dataclass
from datetime import datetime

from hansa.foundation.plumbing.database import Tx

from .rules import Comparison, Totals

_KEEP = """
INSERT INTO auditor_pair (ledger_id, stated_out, stated_in, stated_confirmed, surplus, deficit)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (ledger_id) DO UPDATE SET stated_out = excluded.stated_out, stated_in = excluded.stated_in,
  stated_confirmed = excluded.stated_confirmed, surplus = excluded.surplus, deficit = excluded.deficit,
  compared_at = excluded.compared_at
"""

_ALL = "SELECT ledger_id, stated_in, surplus, deficit, compared_at FROM auditor_pair"


@dataclass(frozen=True)
class ComparedPair:
    """The last comparison with a peer; minor units. `stated_in` is what the peer stated to have credited."""

    stated_in: int
    surplus: int
    deficit: int
    compared_at: datetime


async def keep(tx: Tx, ledger_id: str, stated: Totals, found: Comparison) -> None:
    """Keep a comparison instead of an earlier one."""
    await tx.execute(_KEEP, ledger_id, stated.out, stated.in_, stated.confirmed, found.surplus, found.deficit)


async def compared_pairs(tx: Tx) -> dict[str, ComparedPair]:
    """The last comparison with each peer, by ledger id."""
    return {
        row["ledger_id"]: ComparedPair(
            int(row["stated_in"]), int(row["surplus"]), int(row["deficit"]), row["compared_at"]
        )
        for row in await tx.fetch(_ALL)
    }


async def moment(tx: Tx) -> datetime:
    """The database's time."""
    now: datetime = await tx.fetchval("SELECT clock_timestamp()")
    return now
