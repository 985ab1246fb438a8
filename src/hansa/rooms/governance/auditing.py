"""Comparison for the auditor: sums of proposals with their votes, pins with stakes."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import ledger

from . import store


async def vote_gaps(tx: Tx, *, is_whole: bool, most: int) -> list[str]:
    """The proposals whose sums are not those of their votes, and the agents with less staked than pinned; none, unless somebody tampered.

    `is_whole` compares proposals that ended more than an hour ago as well.
    """
    pins = await store.pins_of_open(tx)
    balances = await ledger.balances_of(tx, sorted(pins))
    short = sorted(
        f"{did} {pinned}"
        for did, pinned in pins.items()
        if did not in balances or balances[did].staked < pinned
    )
    return [*await store.gaps(tx, is_whole=is_whole, most=most), *short][:most]
