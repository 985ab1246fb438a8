"""Units that are taken from several accounts for one, each as far as it covers them: under the locks of all, in the order that is given."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor

from . import orders, store
from .book import Book
from .engine import apply


class Collection(msgspec.Struct, frozen=True):
    """Up to `amount` of the liquid units of `payers`, the first of them first, for an account of the registry, under the reference `ref`."""

    payers: Sequence[str]
    account: str
    amount: Minor
    ref: str


async def collect(tx: Tx, wanted: Collection, book: Book) -> Minor:
    """Take units of accounts, whatever their status; returns how many. The account that gets them is opened unless it is there."""
    await store.open_accounts(tx, [wanted.account], kind="system")
    locked = await store.lock_accounts(tx, wanted.payers)
    taken, given = ZERO, []
    for payer in wanted.payers:
        part = min(locked[payer].liquid if payer in locked else 0, wanted.amount - taken)
        if part > 0:
            given.append(orders.levy(payer, wanted.account, Minor(part), wanted.ref))
            taken = Minor(taken + part)
    if given:
        await apply(tx, given, book)
    return taken
