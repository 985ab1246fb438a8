"""Steps that issuing and destroying share: the treasury is locked first, and a reference is good for one of each."""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from . import rules, store
from .book import Book
from .errors import AccountUnknown, ReferenceUsed


class SupplyChange(msgspec.Struct, frozen=True):
    """Units that came into being or ceased to be, and the whole supply since then; both in minor units."""

    tx_id: int
    amount: Minor
    supply: Minor


async def lock_treasury(tx: Tx, book: Book) -> rules.Account:
    """The treasury, locked until the transaction ends. Raises: AccountUnknown."""
    treasury = (await store.lock_accounts(tx, [book.treasury])).get(book.treasury)
    if treasury is None:
        raise AccountUnknown(
            f"There is no account {book.treasury}; a registry with this DID_METHOD has never started here."
        )
    return treasury


async def require_unused(tx: Tx, act: store.SupplyAct, ref: str) -> None:
    """Judged under the treasury's lock. Raises: ReferenceUsed."""
    if await store.is_reference_used(tx, act, ref):
        done = {"issue": "issued", "destroy": "destroyed"}[act]
        raise ReferenceUsed(f"Units were {done} under this reference before; nothing was changed.")
