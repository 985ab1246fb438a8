"""How a bond moves, without I/O.

- none -> active by a deposit that reaches the minimum; active -> releasing -> released. A deposit makes every bond active.
- `matures_at` counts from the latest deposit. A release takes until then, and at least as long as a dispute may be filed.
- An open dispute keeps at most its own amount of the bond: the rest is released.
- A slash that leaves the minimum leaves the bond active, below it the bond is slashed. A bond that is being released
  stays so while something is left of it.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from hansa.foundation.values.money import ZERO, Minor, format_amount

from .bond import Blocker, Bond, Business, Policy, State
from .errors import BondBelowMinimum, BondBlocked, BondWrongState


def deposited(bond: Bond, amount: Minor, policy: Policy) -> Bond:
    """The agent has deposited more. Raises: BondBelowMinimum."""
    total = Minor(bond.amount + amount)
    if total < policy.minimum:
        missing = format_amount(Minor(policy.minimum - bond.amount))
        raise BondBelowMinimum(
            f"A bond is at least {format_amount(policy.minimum)}: deposit {missing} or more.",
            field="amount",
            context={"minimum": format_amount(policy.minimum)},
        )
    matures_at = bond.now + policy.maturity
    return replace(bond, state=State.ACTIVE, amount=total, matures_at=matures_at, releasable_at=None)


def releasing(bond: Bond, windows_end: datetime, business: Business) -> Bond:
    """The agent wants its bond back, of which disputes keep a part. No dispute about a past payment is filed after `windows_end`.

    Raises: BondWrongState, BondBlocked.
    """
    if bond.state not in (State.ACTIVE, State.SLASHED) or bond.hold_id is None:
        raise BondWrongState(f"The bond is {bond.state}: there is nothing to release.")
    _require_unblocked(_blockers_of_all(bond, business))
    assert bond.matures_at is not None
    releasable_at = max(bond.matures_at, windows_end)
    return replace(bond, state=State.RELEASING, releasable_at=releasable_at)


def released(bond: Bond, business: Business) -> Bond:
    """The agent has its bond back, but for the units that disputes keep. Raises: BondWrongState, BondBlocked."""
    if bond.state != State.RELEASING:
        raise BondWrongState(f"The bond is {bond.state}; only one that is releasing is unlocked.")
    _require_unblocked((*maturity_of(bond), *_blockers_of_all(bond, business)))
    if business.disputed:
        return replace(bond, amount=business.disputed)
    return replace(bond, state=State.RELEASED, hold_id=None, amount=ZERO, matures_at=None, releasable_at=None)


def slashed(bond: Bond, taken: Minor, policy: Policy) -> Bond:
    """So much of the bond was destroyed."""
    left = Minor(bond.amount - taken)
    if left > 0 and (bond.state == State.RELEASING or left >= policy.minimum):
        return replace(bond, amount=left)
    hold_id = bond.hold_id if left else None
    return replace(bond, state=State.SLASHED, amount=left, hold_id=hold_id, releasable_at=None)


def maturity_of(bond: Bond) -> tuple[Blocker, ...]:
    """The time that still blocks the release, if it does."""
    until = bond.releasable_at or bond.matures_at
    if bond.hold_id is None or until is None or until <= bond.now:
        return ()
    return (Blocker("maturity", f"The bond can be unlocked from {until.isoformat()} on."),)


def blockers_of(business: Business) -> tuple[Blocker, ...]:
    """Open business that keeps the bond or a part of it."""
    disputed = f"Disputes about payments of the agent keep {format_amount(business.disputed)} of the bond."
    return (
        *((Blocker("open_dispute", disputed),) if business.disputed else ()),
        *((Blocker("open_contract", "A contract of the agent is under way."),) if business.contracts else ()),
    )


def _blockers_of_all(bond: Bond, business: Business) -> tuple[Blocker, ...]:
    """Open business that leaves nothing of the bond to be released."""
    stored = business.disputed if business.disputed >= bond.amount else ZERO
    return blockers_of(Business(stored, business.contracts))


def _require_unblocked(blockers: Sequence[Blocker]) -> None:
    if blockers:
        raise BondBlocked(
            " ".join(blocker.detail for blocker in blockers),
            context={"blockers": [blocker.kind for blocker in blockers]},
        )
