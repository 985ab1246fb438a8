"""Comparison for the auditor: subscriptions and orders with their holds, holdings and sold points with their postings."""

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .launches import hold_gaps
from .trading import order_gaps


async def gaps(tx: Tx, *, is_whole: bool, most: int) -> tuple[list[str], list[str], list[str]]:
    """Subscriptions without their open hold, open orders without theirs or without their locked points, and holdings that are not the sum of their postings.

    There are none, unless somebody tampered.

    Holdings are compared where `is_whole`.
    """
    points = await store.point_gaps(tx, most) if is_whole else []
    return await hold_gaps(tx, most), await order_gaps(tx, most), points
