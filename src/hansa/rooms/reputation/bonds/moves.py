"""Moves of a bond: each changes its row, its card and its event in one commit.

- An agent deposits units: its bond is one hold of the whole.
- An agent takes its bond back: the release begins, and ends when nothing blocks it any more.
- A ruling destroys units of a bond, in the ruling's own transaction.
"""

from datetime import timedelta

from msgspec.structs import replace

from hansa.foundation.events import BondDeposited, BondReleased, BondReleaseStarted, BondSlashed, Event
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import agents, catalogue, commerce, journal, ledger

from . import rules, store
from .bond import Bond, BondShown, Policy, State
from .errors import BondBlocked, BondWrongState
from .reading import open_business, shown

_WITHOUT = (State.NONE, State.RELEASED)
BOND_HOLD = "reputation_bond"


async def move(tx: Tx, before: Bond, after: Bond, event: Event) -> None:
    """Write a move. Raises: BondWrongState when the bond is not as it is moved from."""
    if not await store.save(tx, before, after):
        raise BondWrongState("The bond has changed meanwhile.")
    await catalogue.show_bond(tx, after.agent_did, _as_shown(after))
    await journal.append(tx, event)


def _as_shown(bond: Bond) -> catalogue.Bond:
    if bond.state in _WITHOUT:
        return catalogue.Bond(None, None, is_bonded=False)
    return catalogue.Bond(bond.state, bond.amount, is_bonded=bond.state == State.ACTIVE)


async def slash_bond(tx: Tx, asked: commerce.BondSlash, settings: Settings) -> commerce.BondSlashed:
    """Destroy up to the amount that is asked of a bond, whatever its state, and whatever the status of the agent."""
    before = await store.lock(tx, asked.did)
    taken = min(asked.amount, before.amount)
    if before.hold_id is None or taken == 0:
        return commerce.BondSlashed(ZERO, None)
    order = ledger.orders.slash(before.hold_id, taken, asked.ref)
    (result,) = await ledger.apply(tx, [order], ledger.Book.of(settings))
    assert result.tx_id is not None
    after = rules.slashed(before, taken, Policy.of(await parameters.in_force(tx, settings)))
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


async def deposit(tx: Tx, did: str, amount: Minor, policy: Policy, book: ledger.Book) -> BondShown:
    """Add to the bond of an agent. Raises: ChildEnding, BondBelowMinimum, InsufficientBalance, AccountSuspended."""
    await agents.lock_status(tx, did)
    await agents.require_not_ending(tx, did)
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
    held_for = ledger.NewHold(BOND_HOLD, str(before.id))
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


async def begin_release(tx: Tx, did: str, settings: Settings) -> BondShown:
    """The bond does not count any more. Raises: BondWrongState, BondBlocked."""
    before = await store.lock(tx, did)
    windows_end = await parameters.end_of_windows(tx, settings, "dispute_window_hours", timedelta(hours=1))
    after = rules.releasing(before, windows_end, await open_business(tx, did))
    assert after.releasable_at is not None
    event = BondReleaseStarted(
        did, amount=format_amount(after.amount), releasable_at=after.releasable_at.isoformat()
    )
    await move(tx, before, after, event)
    return await shown(tx, after)


async def let_go(tx: Tx, did: str, settings: Settings) -> None:
    """Begin the release of the bond of an agent that ends, or unlock it, as far as nothing blocks it."""
    bond = await store.find(tx, did)
    if bond.hold_id is None:
        return
    try:
        if bond.state == State.RELEASING:
            await unlock(tx, did, ledger.Book.of(settings))
        else:
            await begin_release(tx, did, settings)
    except (BondBlocked, BondWrongState):
        # Refused before anything was written; it is tried again.
        return


async def unlock(tx: Tx, did: str, book: ledger.Book) -> BondShown:
    """Give the agent the units back that no dispute keeps. Raises: BondWrongState, BondBlocked."""
    before = await store.lock(tx, did)
    after = rules.released(before, await open_business(tx, did))
    assert before.hold_id is not None
    orders = [ledger.orders.release(before.hold_id)]
    if after.amount:
        orders.append(ledger.orders.deposit(did, after.amount, ledger.NewHold(BOND_HOLD, str(before.id))))
    released, *stored = await ledger.apply(tx, orders, book)
    assert released.tx_id is not None
    freed = Minor(before.amount - after.amount)
    event = BondReleased(did, amount=format_amount(freed), tx_id=released.tx_id)
    if stored:
        after = replace(after, hold_id=stored[0].hold_id)
    await move(tx, before, after, event)
    return await shown(tx, after)
