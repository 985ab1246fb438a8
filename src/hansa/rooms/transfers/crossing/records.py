"""A transfer between two registries as its parties see it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from hansa.foundation.values.money import Minor


@dataclass(frozen=True)
class CrossingView:
    """Amounts in minor units. `state` is reserved, prepared, committed, aborted or in_doubt; `code` says why aborted.

    `balance_after` is what the sender had left after the reserve; None for the receiver.
    """

    transfer_id: UUID
    state: str
    code: str | None
    backend: str
    sender_did: str
    receiver_did: str
    receiver_registry: str
    amount: Minor
    fee: Minor
    currency: str
    balance_after: Minor | None
    created_at: datetime
    decided_at: datetime | None
    credited_at: datetime | None
    memo: str | None

    @property
    def net(self) -> Minor:
        """What the receiver gets."""
        return Minor(self.amount - self.fee)
