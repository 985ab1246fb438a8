"""Every statement on comparisons with peers."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .rules import ALIKE, Comparison, Place, Totals

_KEEP = """
INSERT INTO auditor_pair AS pair (ledger_id, stated_out, stated_in, stated_confirmed, surplus, deficit, agreed_at,
  exact_surplus, exact_deficit, base_epoch, base_seq, base_amount)
VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $5::numeric = 0 AND $6::numeric = 0 THEN $7::timestamptz END, $8, $9, $10, $11, $12)
ON CONFLICT (ledger_id) DO UPDATE SET stated_out = excluded.stated_out, stated_in = excluded.stated_in,
  stated_confirmed = excluded.stated_confirmed, surplus = excluded.surplus, deficit = excluded.deficit,
  compared_at = excluded.compared_at, agreed_at = coalesce(excluded.agreed_at, pair.agreed_at),
  exact_surplus = excluded.exact_surplus, exact_deficit = excluded.exact_deficit, base_epoch = excluded.base_epoch,
  base_seq = excluded.base_seq, base_amount = excluded.base_amount
"""

_KEEP_SWAPS = """
INSERT INTO auditor_swap_pair (ledger_id, currency, stated_in, surplus, deficit) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (ledger_id, currency) DO UPDATE SET stated_in = excluded.stated_in, surplus = excluded.surplus,
  deficit = excluded.deficit, compared_at = excluded.compared_at
"""

_ALL_SWAPS = "SELECT ledger_id, currency, stated_in, surplus, deficit, compared_at FROM auditor_swap_pair"

_ALL = "SELECT ledger_id, stated_in, surplus, deficit, compared_at FROM auditor_pair"


class ComparedPair(msgspec.Struct, frozen=True):
    """Last comparison with a peer; minor units. `stated_in` is the sum that the peer stated as credited."""

    stated_in: int
    surplus: int
    deficit: int
    compared_at: datetime


class AtPlace(msgspec.Struct, frozen=True):
    """The last comparison at a place of the peer's chain, and the last place where the totals agreed, with the total there."""

    found: Comparison = ALIKE
    base: Place | None = None
    amount: int = 0


async def last_at_place(tx: Tx, ledger_id: str) -> AtPlace:
    """Return the result of the last comparison at a place."""
    row = await tx.fetchrow(
        "SELECT exact_surplus, exact_deficit, base_epoch, base_seq, base_amount FROM auditor_pair WHERE ledger_id = $1",
        ledger_id,
    )
    if row is None:
        return AtPlace()
    found = Comparison(int(row["exact_surplus"]), int(row["exact_deficit"]))
    if row["base_seq"] is None:
        return AtPlace(found)
    return AtPlace(found, (row["base_epoch"], row["base_seq"]), int(row["base_amount"]))


async def keep(
    tx: Tx, ledger_id: str, stated: Totals, found: Comparison, *, exact: AtPlace, read_at: datetime
) -> None:
    """Keep a comparison with own totals that were read at this moment, instead of an earlier one."""
    values = (stated.out, stated.in_, stated.confirmed, found.surplus, found.deficit, read_at)
    base = (None, None, None) if exact.base is None else (*exact.base, exact.amount)
    await tx.execute(_KEEP, ledger_id, *values, exact.found.surplus, exact.found.deficit, *base)


async def keep_swaps(tx: Tx, ledger_id: str, stated: Totals, found: Mapping[str, Comparison]) -> None:
    """Keep the comparisons of swaps, by currency."""
    theirs = {one.currency: one.in_ for one in stated.swaps}
    for currency, differing in found.items():
        values = (theirs[currency], differing.surplus, differing.deficit)
        await tx.execute(_KEEP_SWAPS, ledger_id, currency, *values)


async def agreed_at(tx: Tx, ledger_id: str) -> datetime | None:
    """When the own totals were read that agreed with those of the peer last."""
    timestamp: datetime | None = await tx.fetchval(
        "SELECT agreed_at FROM auditor_pair WHERE ledger_id = $1", ledger_id
    )
    return timestamp


async def compared_pairs(tx: Tx) -> dict[str, ComparedPair]:
    """The last comparison with each peer, by ledger id."""
    return {
        row["ledger_id"]: ComparedPair(
            int(row["stated_in"]), int(row["surplus"]), int(row["deficit"]), row["compared_at"]
        )
        for row in await tx.fetch(_ALL)
    }


async def compared_swaps(tx: Tx) -> dict[tuple[str, str], ComparedPair]:
    """The last comparison of swaps with each peer, by ledger id and currency."""
    return {
        (row["ledger_id"], row["currency"]): ComparedPair(
            int(row["stated_in"]), int(row["surplus"]), int(row["deficit"]), row["compared_at"]
        )
        for row in await tx.fetch(_ALL_SWAPS)
    }
