"""A ruling destroys units of a bond, in the ruling's own transaction."""

from hansa.foundation.events import BondSlashed
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, format_amount
from hansa.rooms import commerce, ledger

from . import rules, store
from .bond import Policy
from .moves import move


async def slash_bond(tx: Tx, asked: commerce.BondSlash, settings: Settings) -> commerce.BondSlashed:
    """Destroy up to the amount that is asked of a bond, whatever its state, and whatever the status of the agent."""
    before = await store.lock(tx, asked.did)
    taken = min(asked.amount, before.amount)
    if before.hold_id is None or taken == 0:
        return commerce.BondSlashed(ZERO, None)
    order = ledger.orders.slash(before.hold_id, taken, asked.ref)
    (result,) = await ledger.apply(tx, [order], ledger.Book.of(settings))
    assert result.tx_id is not None
    after = rules.slashed(before, taken, Policy.of(settings))
    event = BondSlashed(
        asked.did,
        amount=format_amount(taken),
        left=format_amount(after.amount),
        state=after.state,
        ref=asked.ref,
        tx_id=result.tx_id,
    )
    await move(tx, before, after, event)
    return commerce.BondSlashed(taken, result.tx_id)
