"""Every statement on comparisons with peers."""

from dataclasses import dataclass
from datetime import datetime

from hansa.foundation.plumbing.database import Tx

from .rules import Comparison, Totals

_KEEP = """
INSERT INTO auditor_pair AS pair (ledger_id, stated_out, stated_in, stated_confirmed, surplus, deficit, agreed_at)
VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $5::numeric = 0 AND $6::numeric = 0 THEN $7::timestamptz END)
ON CONFLICT (ledger_id) DO UPDATE SET stated_out = excluded.stated_out, stated_in = excluded.stated_in,
  stated_confirmed = excluded.stated_confirmed, surplus = excluded.surplus, deficit = excluded.deficit,
  compared_at = excluded.compared_at, agreed_at = coalesce(excluded.agreed_at, pair.agreed_at)
"""

_ALL = "SELECT ledger_id, stated_in, surplus, deficit, compared_at FROM auditor_pair"


@dataclass(frozen=True)
class ComparedPair:
    """The last comparison with a peer; minor units. `stated_in` is what the peer stated to have credited."""

    stated_in: int
    surplus: int
    deficit: int
    compared_at: datetime


async def keep(tx: Tx, ledger_id: str, stated: Totals, found: Comparison, read_at: datetime) -> None:
    """Keep a comparison with own totals that were read at this moment, instead of an earlier one."""
    values = (stated.out, stated.in_, stated.confirmed, found.surplus, found.deficit, read_at)
    await tx.execute(_KEEP, ledger_id, *values)


async def agreed_at(tx: Tx, ledger_id: str) -> datetime | None:
    """When the own totals were read that agreed with those of the peer last."""
    moment: datetime | None = await tx.fetchval(
        "SELECT agreed_at FROM auditor_pair WHERE ledger_id = $1", ledger_id
    )
    return moment


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
