"""Units that are locked here while they are held wrapped at another registry.

- A lock is a hold of its payer without a fee, for the bridge account of the other registry. It is kept, which pays that
  account, or returned; each once.
- The liquid balance of a bridge account is the total locked for that registry. Only `unlock` takes units out of it; `lock_again`
  puts back locks that a restore lost.
"""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import ledger_id_of_bridge
from hansa.foundation.values.money import Minor

from . import orders, store
from .book import Book
from .engine import Result, apply, refusals_of
from .orders import NewHold, Order

OWNER_KIND = "transfers_bridge"

_LOCKED = (
    "SELECT did, liquid FROM ledger_account WHERE kind = 'system' AND unit = '' ORDER BY did COLLATE \"C\""
)


class BridgeAmount(msgspec.Struct, frozen=True):
    """Units of an agent here that a saga of the bridge with that registry locks or unlocks."""

    ledger_id: str
    saga_id: UUID
    did: str
    amount: Minor


async def lock_for_bridge(tx: Tx, locked: BridgeAmount, book: Book, *, dry: bool = False) -> Result:
    """Set own units aside for a wrapped amount at that registry; the result names the hold.

    With `dry` no units move.

    Raises: AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    account = book.bridge(locked.ledger_id)
    await store.open_accounts(tx, [account], kind="system")
    held_for = NewHold(OWNER_KIND, str(locked.saga_id), account)
    return (await apply(tx, [orders.hold(locked.did, locked.amount, held_for, fee=Minor(0))], book, dry=dry))[
        0
    ]


async def keep_locked(tx: Tx, hold_id: int, amount: Minor, book: Book) -> None:
    """The wrapped amount exists: the units stay on the bridge account. Raises: HoldUnknown, HoldEnded."""
    await apply(tx, [orders.award(hold_id, amount)], book)


async def return_locked(tx: Tx, hold_id: int, book: Book) -> None:
    """No wrapped amount exists: the payer gets its units back. Raises: HoldUnknown, HoldEnded."""
    await apply(tx, [orders.release(hold_id)], book)


async def can_lock_again(tx: Tx, locked: BridgeAmount, book: Book) -> bool:
    """Return whether `lock_again` would find the units now; nothing moves."""
    await store.open_accounts(tx, [book.bridge(locked.ledger_id)], kind="system")
    (refusal,) = await refusals_of(tx, [_again(locked, book)], book)
    return refusal is None


async def lock_again(tx: Tx, locked: BridgeAmount, book: Book) -> None:
    """Units of an agent, or of the account for shortfalls, go back to the bridge account after a restore, whatever its status.

    Raises: AccountUnknown, InsufficientBalance.
    """
    await apply(tx, [_again(locked, book)], book)


def _again(locked: BridgeAmount, book: Book) -> Order:
    account, reference = book.bridge(locked.ledger_id), f"locked again {locked.saga_id}"
    return orders.grant(locked.did, account, locked.amount, reference)


async def unlock(tx: Tx, unlocked: BridgeAmount, book: Book) -> Result:
    """Pay locked units to an agent, whatever its status. Raises: AccountUnknown, InsufficientBalance."""
    account, reference = book.bridge(unlocked.ledger_id), f"redeem {unlocked.saga_id}"
    return (await apply(tx, [orders.grant(account, unlocked.did, unlocked.amount, reference)], book))[0]


async def locked_in_bridges(tx: Tx) -> dict[str, Minor]:
    """Return the units locked for wrapped amounts at each other registry, by ledger id; minor units."""
    found = {ledger_id_of_bridge(row["did"]): Minor(row["liquid"]) for row in await tx.fetch(_LOCKED)}
    return {ledger_id: locked for ledger_id, locked in found.items() if ledger_id is not None}
