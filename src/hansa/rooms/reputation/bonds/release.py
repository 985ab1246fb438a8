"""An agent takes its bond back: the release begins, and ends when nothing blocks it any more."""

from msgspec.structs import replace

from hansa.foundation.events import BondReleased, BondReleaseStarted
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import ledger

from . import rules, store
from .bond import BondShown, Policy
from .deposit import OWNER_KIND
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
    """Give the agent the units back that no dispute keeps. Raises: BondWrongState, BondBlocked."""
    before = await store.lock(tx, did)
    after = rules.released(before, await open_business(tx, did))
    assert before.hold_id is not None
    orders = [ledger.orders.release(before.hold_id)]
    if after.amount:
        orders.append(ledger.orders.deposit(did, after.amount, ledger.NewHold(OWNER_KIND, str(before.id))))
    released, *stored = await ledger.apply(tx, orders, book)
    assert released.tx_id is not None
    freed = Minor(before.amount - after.amount)
    event = BondReleased(did, amount=format_amount(freed), tx_id=released.tx_id)
    if stored:
        after = replace(after, hold_id=stored[0].hold_id)
    await move(tx, before, after, event)
    return await shown(tx, after)
