"""Actions of rooms above in the commit that decides a transfer of theirs: a payment token ends, a contract is paid."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx


class CrossingDecision(msgspec.Struct, frozen=True):
    """Decision on a transfer that leaves this registry.

    `tx_id` is the ledger transaction by which the units left, where COMMIT is recorded; `code` says why it is ABORT. `purpose` is
    that of `Body`.
    """

    transfer_id: UUID
    tx_id: int | None
    code: str | None
    purpose: str | None = None

    @property
    def is_paid(self) -> bool:
        """Return whether COMMIT is recorded."""
        return self.tx_id is not None


PaymentDecided: TypeAlias = Callable[[Tx, Sequence[CrossingDecision], Settings], Awaitable[None]]
PAYMENT_DECIDED: Slot[PaymentDecided] = Slot(
    "transfers: transfers are decided, which may pay something of a room above"
)
