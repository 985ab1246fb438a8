"""Trades are counted in candles and in the pairs of their parties, each once, in the order of their numbers.

Trades of a listing are committed in the order of their numbers, under the lock of the listing: those behind the number that was counted
last are exactly those that have yet to be counted.
"""

from hansa.foundation.plumbing.jobs import sweep_of
from hansa.foundation.plumbing.storage.database import Tx

from . import counting_store as store

EVERY_SECONDS = 10
TRADES_AT_ONCE = 20_000
LISTINGS_AT_ONCE = 20


async def count_all(tx: Tx, ref: str) -> None:
    """Count every trade of a listing that the transaction sees."""
    await store.open_listings(tx)
    while await store.count(tx, ref, TRADES_AT_ONCE) == TRADES_AT_ONCE:
        pass


async def _count(tx: Tx) -> None:
    await store.open_listings(tx)
    for ref in await store.waiting(tx, LISTINGS_AT_ONCE):
        await store.count(tx, ref, TRADES_AT_ONCE)
        await store.measure(tx, ref)
    await store.forget_pairs(tx)


COUNT_TRADES = sweep_of("exchange: count trades", EVERY_SECONDS, store.HAS_WAITING, _count)
