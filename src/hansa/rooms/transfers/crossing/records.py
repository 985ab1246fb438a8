"""A transfer between two registries as its parties see it."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor


class Bounds(msgspec.Struct, frozen=True):
    """Amount that a swap has to pay: at least this, or the quoted one. For a receiver of the same currency nothing is stated."""

    min_amount_out: Minor | None = None
    quote_id: UUID | None = None

    @property
    def are_stated(self) -> bool:
        """Return whether the transfer can only be a swap."""
        return self.min_amount_out is not None or self.quote_id is not None


NO_BOUNDS = Bounds()


class CrossingView(msgspec.Struct, frozen=True):
    """Transfer between registries; amounts in minor units, `net` (for the receiver) and `fee` of the currency received.

    `state` is reserved, prepared, committed, aborted or in_doubt; `code` says why aborted.
    `balance_after` is the balance of the sender after the reserve; None for the receiver.
    """

    transfer_id: UUID
    state: str
    code: str | None
    backend: str
    sender_did: str
    receiver_did: str
    receiver_registry: str
    amount: Minor
    net: Minor
    fee: Minor
    currency: str
    currency_received: str
    balance_after: Minor | None
    created_at: datetime
    decided_at: datetime | None
    credited_at: datetime | None
    memo: str | None

    @property
    def method(self) -> Literal["2pc", "async", "fx"]:
        """How it crosses: `fx` where the receiver has another currency."""
        if self.currency_received != self.currency:
            return "fx"
        return "async" if self.backend == "async" else "2pc"
