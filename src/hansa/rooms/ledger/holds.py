"""Holds: units set aside in escrow for an act of their owner (a token, a milestone, a bond), captured or freed later.

- Amount and fee are fixed when the hold is opened; a capture takes its part of the fee, so that the parts never exceed the hold.
  Every unit leaves a hold once: by a capture, or back to the payer.
- A hold that has expired is not captured any more. While it is frozen it does not expire; when the last reason to freeze
  it ends, the time that remained is added.
- A hold that expires is freed in the commit that ends the state of its owner: an owner has the extension
  `<owner_kind>_expiry`, whose payload is `Expiry`, and `free_overdue_holds` expires its holds through it. A refused claim
  leaves the hold. Holds of owners without that extension are freed after a grace.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from fractions import Fraction

import msgspec
import structlog

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable
from hansa.foundation.values.money import Minor, format_amount, share

from . import holds_store as store
from . import orders
from .book import Book
from .engine import Result, apply, decide
from .errors import HoldEnded, HoldExceeded, HoldExpired, HoldUnknown
from .holds_store import Hold, OverdueHold
from .orders import Capture, ExtensionLine, NewHold, Order

OVERDUE_AT_ONCE = 200
GRACE_SECONDS = 60

_log = structlog.get_logger()


class HoldOrder(msgspec.Struct, frozen=True):
    """Units to set aside; `fee` is the absolute fee of a firm quote, else that of a transfer as of now."""

    payer: str
    amount: Minor
    held_for: NewHold
    fee: Minor | None = None


class Expiry(msgspec.Struct, frozen=True):
    """The payload of an owner's extension that expires a hold."""

    owner_id: str
    hold_id: int


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
    """Return the rest of a hold to its payer. Raises: HoldUnknown, HoldEnded."""
    return (await apply(tx, [orders.release(hold_id)], book))[0]


async def replace_hold(tx: Tx, hold_id: int, amount: Minor, held_for: NewHold, book: Book) -> Result:
    """Release a hold and open another of its payer at the fee rate of the first, both or neither; the difference is free.

    Raises: HoldUnknown, HoldEnded, HoldExceeded, AccountUnknown (payee), AccountSuspended (payer), InsufficientBalance (a part was captured).
    """
    replaced = await read_hold(tx, hold_id)
    if amount > replaced.amount:
        available = format_amount(replaced.amount)
        raise HoldExceeded(
            f"{format_amount(amount)} is more than the {available} of the hold.",
            context={"available": available},
        )
    fee = share(amount, Fraction(replaced.fee_held, replaced.amount))
    opened = orders.rehold(replaced.payer, amount, held_for, fee)
    _, result = await apply(tx, [orders.release(hold_id).in_group(1), opened.in_group(1)], book)
    return result


async def expire_hold(tx: Tx, hold_id: int, book: Book) -> Result:
    """Return the rest of a hold that has expired to its payer. Raises: HoldUnknown, HoldEnded, HoldNotDue."""
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


async def read_hold(tx: Tx, hold_id: int) -> Hold:
    """One hold, ended or not. Raises: HoldUnknown."""
    hold = await store.find(tx, hold_id)
    if hold is None:
        raise HoldUnknown
    return hold


async def remaining_in(tx: Tx, hold_ids: Collection[int]) -> dict[int, Minor]:
    """The units that are left in each of these holds; an unknown one is absent."""
    return {hold.id: hold.remaining for hold in await store.find_all(tx, hold_ids)}


HAS_OVERDUE = store.has_overdue(GRACE_SECONDS)
"""Whether a hold has expired that is to be freed."""


async def free_overdue_holds(runtime: Runtime) -> int:
    """Free the holds that have expired, each with its owner's state; returns how many."""
    freed, last = 0, None
    while True:
        due = await runtime.database.read(
            lambda tx, after=last: store.overdue(tx, GRACE_SECONDS, after, OVERDUE_AT_ONCE)  # type: ignore[misc]
        )
        freed += await _free(runtime, due)
        if len(due) < OVERDUE_AT_ONCE:
            return freed
        last = due[-1]


async def _free(runtime: Runtime, due: Sequence[OverdueHold]) -> int:
    """Free these holds in one transaction, or in halves where that fails: one that cannot be freed stops no other."""
    if not due:
        return 0
    expiring = [_expiry_of(hold) for hold in due]
    lines = [msgspec.json.encode(order) for order in expiring]
    extended = any(order.is_extended for order in expiring)
    book = Book.of(runtime.settings)
    try:
        rows = await runtime.database.transaction(lambda tx: decide(tx, lines, book, extended=extended))
    except Unavailable:
        raise
    except Exception as failure:  # noqa: BLE001
        if len(due) == 1:
            _log.error("ledger.hold_not_freed", hold_id=due[0].id, error=str(failure))
            return 0
        middle = len(due) // 2
        return await _free(runtime, due[:middle]) + await _free(runtime, due[middle:])
    return sum(row["outcome"] == "posted" for row in rows)


def _expiry_of(hold: OverdueHold) -> Order:
    order = orders.expire(hold.id)
    if not hold.is_extended:
        return order
    return order.extended(ExtensionLine(hold.extension, Expiry(hold.owner_id, hold.id)))


async def _refuse(tx: Tx, hold_id: int) -> None:
    """Raises: HoldUnknown, HoldEnded, HoldExpired."""
    hold = await store.find(tx, hold_id)
    if hold is None:
        raise HoldUnknown
    raise HoldEnded if hold.remaining == 0 else HoldExpired
