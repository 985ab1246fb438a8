"""An agent deposits units: its bond is one hold of the whole."""

from msgspec.structs import replace

from hansa.foundation.events import BondDeposited
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import ledger

from . import rules, store
from .bond import Bond, BondShown, Policy
from .moves import move
from .reading import shown

OWNER_KIND = "reputation_bond"


async def deposit(tx: Tx, did: str, amount: Minor, policy: Policy, book: ledger.Book) -> BondShown:
    """Add to the bond of an agent. Raises: BondBelowMinimum, InsufficientBalance, AccountSuspended."""
    before = await store.lock_new(tx, did)
    after = rules.deposited(before, amount, policy)
    after = replace(after, hold_id=await _hold(tx, before, after, book))
    event = BondDeposited(
        did,
        amount=format_amount(amount),
        total=format_amount(after.amount),
        currency=policy.currency,
    )
    await move(tx, before, after, event)
    return await shown(tx, after)


async def _hold(tx: Tx, before: Bond, after: Bond, book: ledger.Book) -> int:
    held_for = ledger.NewHold(OWNER_KIND, str(before.id))
    orders = [ledger.orders.deposit(before.agent_did, after.amount, held_for)]
    if before.hold_id is not None:
        orders.insert(0, ledger.orders.release(before.hold_id))

    def uncovered(available: int, required: int) -> Refused:
        # What is deposited already is released first, and counts on both sides.
        return ledger.uncovered(available - before.amount, required - before.amount)

    results = await ledger.apply(tx, orders, book, uncovered=uncovered)
    hold_id = results[-1].hold_id
    assert hold_id is not None
    return hold_id
