"""Comparison for the auditor: subscriptions with their holds, holdings and sold points with their postings."""

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .launches import hold_gaps


async def gaps(tx: Tx, *, is_whole: bool, most: int) -> tuple[list[str], list[str]]:
    """Subscriptions that have yet to be settled without their open hold, and holdings that are not the sum of their postings; none, unless somebody tampered.

    Holdings are compared where `is_whole`.
    """
    return await hold_gaps(tx, most), await store.point_gaps(tx, most) if is_whole else []
