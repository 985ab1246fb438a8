"""How units cease to be: the operator takes them out of the treasury.

Whoever destroys holds the treasury's lock, so that what is destroyed is still there when it is taken.
"""

from hansa.foundation.events import TokensDestroyed
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import postings_total
from hansa.foundation.words.money import Minor, format_amount
from hansa.rooms import journal

from . import rules, store
from .book import Book
from .posting import balance_changed
from .treasury import SupplyChange, lock_treasury, require_unused


async def destroy(tx: Tx, *, amount: Minor, ref: str, book: Book) -> SupplyChange:
    """Destroy units of the treasury at the operator's word, once for each `ref`.

    Raises: ReferenceInvalid, ReferenceUsed, TreasuryInsufficient, AccountUnknown.
    """
    rules.require_reference(ref)
    treasury = await lock_treasury(tx, book)
    await require_unused(tx, "destroy", ref)
    rules.require_in_treasury(treasury, amount)
    posted = await store.post(
        tx,
        store.Posting(
            tx_type="destroy",
            payer_id=treasury.id,
            payee_id=None,
            amount=amount,
            ref=ref,
            own_movements=[(book.treasury, -amount)],
        ),
    )
    destroyed = TokensDestroyed(
        tx_id=posted.tx_id, from_=book.treasury, amount=format_amount(amount), currency=book.currency, ref=ref
    )
    await journal.append(tx, balance_changed(posted, "destroy", book), destroyed)
    postings_total.labels("destroy").inc()
    return SupplyChange(posted.tx_id, amount, await store.sum_supply(tx))
