"""Accounts and holds before a period, and the accounts after it, read from the postings of the period."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.store import collectors_of

from . import store
from .movements import is_between, names_a_hold
from .scratch import Place

PACE = timedelta(minutes=65)
"""The velocity of a payer counts an hour, in whole minutes; a transaction is dated at its beginning, its number is drawn at its end."""


class Period(msgspec.Struct, frozen=True):
    """Transactions `first` to `last`; those from `begins` on are carried out before, as they were recorded, for the velocity of payers."""

    begins: int
    first: int
    last: int


class Opening(msgspec.Struct, frozen=True):
    """Balances of the accounts of a period before and after it in minor units, the holds that were open, and transactions by type.

    Accounts that collect fees are one, under the name of the first.
    """

    period: Period
    collectors: Sequence[str]
    before: dict[Place, int]
    after: dict[Place, int]
    holds: Sequence[asyncpg.Record]
    types: Counter[str]
    began_at: datetime

    def count_kept_fees(self, kept: set[int]) -> int:
        """Count the transactions of the period, without those before it, among these."""
        return sum(tx_id >= self.period.first for tx_id in kept)


async def read_opening(tx: Tx, book: Book, first: int, last: int) -> Opening:
    """Read what a replay of these transactions begins with; `tx` is one snapshot."""
    period = Period(await store.first_within(tx, first, PACE), first, last)
    collectors = await collectors_of(tx, book)
    before: dict[Place, int] = {}
    after: dict[Place, int] = {}
    opened: set[int] = set()
    touched: set[int] = set()
    types: Counter[str] = Counter()
    began_at: datetime | None = None
    async for movement in store.movements(tx, period.begins, last):
        began_at = began_at or movement.recorded_at
        for one in movement.changes:
            before.setdefault((one.account, one.bucket), one.after - one.delta)
            after[one.account, one.bucket] = one.after
        if movement.hold_id is not None:
            (touched if names_a_hold(movement) else opened).add(movement.hold_id)
        if movement.id >= first and not is_between(movement, collectors):
            types[movement.tx_type] += 1
    for balances, moment in ((before, period.begins), (after, last + 1)):
        for did in collectors:
            balances.pop((did, "liquid"), None)
        balances[book.fee_collector, "liquid"] = await store.collected_before(tx, collectors, moment)
    holds = await store.holds_before(tx, sorted(touched - opened), period.begins)
    assert began_at is not None
    return Opening(period, collectors, before, after, holds, types, began_at)
