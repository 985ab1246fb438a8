"""Holds: units set aside in escrow for an act of their owner (a token, a milestone, a bond), captured or freed later.

- Amount and fee are fixed when the hold is opened; a capture takes its part of the fee, so that the parts never exceed
  what is held. Every unit leaves a hold once: by a capture, or back to the payer.
- A hold that has expired is not captured any more. While it is frozen it does not expire; when the last reason to freeze
  it ends, the time that remained is added.
- Owners free their holds when they expire, in the commit that ends their own state. `free_overdue_holds` does so later for
  holds whose owner did not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.money import Minor

from . import holds_store as store
from . import orders, rules
from .book import Book
from .engine import Result, apply, decide
from .errors import HoldEnded, HoldExpired, HoldUnknown
from .holds_store import Hold
from .orders import Capture, NewHold

OVERDUE_AT_ONCE = 200
GRACE_SECONDS = 60


@dataclass(frozen=True)
class HoldOrder:
    """What is to be set aside; `fee` is the absolute fee of a firm quote, else that of a transfer as of now."""

    payer: str
    amount: Minor
    held_for: NewHold
    fee: Minor | None = None


async def open_hold(tx: Tx, order: HoldOrder, book: Book) -> Result:
    """Move units and their fee from liquid to escrow; the result names the hold.

    Raises: AccountUnknown (payer or payee), AccountSuspended (payer), InsufficientBalance.
    """
    return (await apply(tx, [orders.hold(order.payer, order.amount, order.held_for, fee=order.fee)], book))[0]


async def capture_hold(
    tx: Tx, taken: Capture, amount: Minor, book: Book, *, payee: str | None = None, message: str | None = None
) -> Result:
    """Pay a part of a hold to its payee, or to `payee`, with its part of the fee; a final capture frees the rest.

    Raises: HoldUnknown, HoldEnded, HoldExpired, HoldExceeded, AccountUnknown, AccountSuspended (payee).
    """
    order = orders.capture(taken.id, amount, payee=payee, final=taken.final, message=message)
    return (await apply(tx, [order], book))[0]


async def release_hold(tx: Tx, hold_id: int, book: Book) -> Result:
    """Give the payer back what remains. Raises: HoldUnknown, HoldEnded."""
    return (await apply(tx, [orders.release(hold_id)], book))[0]


async def expire_hold(tx: Tx, hold_id: int, book: Book) -> Result:
    """As `release_hold`, of a hold that has expired. Raises: HoldUnknown, HoldEnded, HoldNotDue."""
    return (await apply(tx, [orders.expire(hold_id)], book))[0]


async def extend_hold(tx: Tx, hold_id: int, expires_at: datetime | None) -> None:
    """Let a hold expire at another time, or never by itself. Raises: HoldUnknown, HoldEnded, HoldExpired."""
    if not await store.extend(tx, hold_id, expires_at):
        await _refuse(tx, hold_id)


async def freeze_hold(tx: Tx, hold_id: int, reason: str) -> None:
    """Keep a hold beyond its expiry; a second freeze for the same reason changes nothing.

    Raises: HoldUnknown, HoldEnded, HoldExpired.
    """
    if not await store.freeze(tx, hold_id, reason):
        await _refuse(tx, hold_id)


async def thaw_hold(tx: Tx, hold_id: int, reason: str) -> None:
    """End one reason to freeze a hold; without that reason nothing changes. Raises: HoldUnknown, HoldEnded."""
    if not await store.thaw(tx, hold_id, reason):
        await _refuse(tx, hold_id)


async def read_holds(tx: Tx, owner_kind: str, owner_id: str) -> Sequence[Hold]:
    """The holds of one owner reference, oldest first."""
    return await store.of_owner(tx, owner_kind, owner_id)


async def free_overdue_holds(runtime: Runtime) -> int:
    """Free holds that expired a while ago and that their owner left; returns how many."""
    book = Book.of(runtime.settings)

    async def freed(tx: Tx) -> int:
        lines = [
            msgspec.json.encode(orders.expire(hold_id))
            for hold_id in await store.overdue(tx, GRACE_SECONDS, OVERDUE_AT_ONCE)
        ]
        rows = await decide(tx, lines, book, rules.FeePolicy()) if lines else []
        return sum(row["outcome"] == "posted" for row in rows)

    return await runtime.database.act(freed)


async def _refuse(tx: Tx, hold_id: int) -> None:
    """Raises: HoldUnknown, HoldEnded, HoldExpired."""
    hold = await store.find(tx, hold_id)
    if hold is None:
        raise HoldUnknown
    raise HoldEnded if hold.remaining == 0 else HoldExpired
