"""Comparison for the auditor: subscriptions and orders with their holds, holdings and sold points with their postings."""

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .launches import hold_gaps
from .revenue import ExchangeInvariantOut, ListingSolvencyOut, solvency_of_listings, verdict_on
from .trading import lock_gaps, order_gaps

GAPS_MAX = 1


async def gaps(tx: Tx, *, is_whole: bool, most: int) -> tuple[list[str], list[str], list[str]]:
    """Subscriptions without their open hold, open buys without theirs, and holdings that are not the sum of their postings or lock other points than they offer.

    There are none, unless somebody tampered.

    Holdings are compared with their postings where `is_whole`.
    """
    points = await store.point_gaps(tx, most) if is_whole else []
    locked = await lock_gaps(tx, most)
    return await hold_gaps(tx, most), await order_gaps(tx, most), [*points, *locked][:most]


async def solvency(tx: Tx, most: int) -> tuple[str, list[str]]:
    """The worst verdict on the accounts of all listings, and those that have less than is owed, with the difference in minor units."""
    found = await solvency_of_listings(tx)
    breaches = [
        f"{one.ref} {one.balance - one.owed - one.carried:+d}" for one in found if one.verdict == "BREACH"
    ]
    return verdict_on(found), breaches[:most]


async def invariant(tx: Tx) -> ExchangeInvariantOut:
    """Points, distributions and holds as they are now; `tx` is one snapshot."""
    holds, orders, points = await gaps(tx, is_whole=True, most=GAPS_MAX)
    found = await solvency_of_listings(tx)
    return ExchangeInvariantOut.model_validate(
        {
            "shares": "BREACH" if points else "OK",
            "solvency": verdict_on(found),
            "escrow": "BREACH" if holds or orders else "OK",
            "listings": [ListingSolvencyOut.of(one) for one in found],
        }
    )
