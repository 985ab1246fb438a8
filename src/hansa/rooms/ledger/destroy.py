"""Destruction of units: the operator takes them out of the treasury.

It holds the treasury's lock, so that the units to be destroyed are still there when they are taken.
"""

from hansa.foundation.events import TokensDestroyed
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import journal

from . import orders, rules, store
from .book import Book
from .engine import apply
from .treasury import SupplyChange, lock_treasury, require_unused


async def destroy(tx: Tx, *, amount: Minor, ref: str, book: Book) -> SupplyChange:
    """Destroy units of the treasury at the operator's word, once for each `ref`.

    Raises: ReferenceInvalid, ReferenceUsed, TreasuryInsufficient, AccountUnknown.
    """
    rules.require_reference(ref)
    await lock_treasury(tx, book)
    await require_unused(tx, "destroy", ref)
    order = orders.destroy(book.treasury, amount, ref)
    (result,) = await apply(tx, [order], book, uncovered=rules.not_in_treasury)
    assert result.tx_id is not None
    destroyed = TokensDestroyed(
        tx_id=result.tx_id, from_=book.treasury, amount=format_amount(amount), currency=book.currency, ref=ref
    )
    await journal.append(tx, destroyed)
    return SupplyChange(result.tx_id, amount, await store.sum_supply(tx))
