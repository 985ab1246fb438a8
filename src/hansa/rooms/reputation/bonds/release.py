"""An agent takes its bond back: the release begins, and ends when nothing blocks it any more."""

from hansa.foundation.events import BondReleased, BondReleaseStarted
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import ledger

from . import rules, store
from .bond import BondShown, Policy
from .moves import move
from .reading import open_business, shown


async def begin_release(tx: Tx, did: str, policy: Policy) -> BondShown:
    """The bond does not count any more. Raises: BondWrongState, BondBlocked."""
    before = await store.lock(tx, did)
    after = rules.releasing(before, policy, await open_business(tx, did))
    assert after.releasable_at is not None
    event = BondReleaseStarted(
        did, amount=format_amount(after.amount), releasable_at=after.releasable_at.isoformat()
    )
    await move(tx, before, after, event)
    return await shown(tx, after)


async def unlock(tx: Tx, did: str, book: ledger.Book) -> BondShown:
    """Give the agent its units back. Raises: BondWrongState, BondBlocked."""
    before = await store.lock(tx, did)
    after = rules.released(before, await open_business(tx, did))
    assert before.hold_id is not None
    (result,) = await ledger.apply(tx, [ledger.orders.release(before.hold_id)], book)
    assert result.tx_id is not None
    event = BondReleased(did, amount=format_amount(before.amount), tx_id=result.tx_id)
    await move(tx, before, after, event)
    return await shown(tx, after)
