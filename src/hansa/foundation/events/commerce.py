"""Facts of payments for calls. The movement of the units is the ledger's own event."""

from typing import ClassVar

from hansa.foundation.events.base import Event


class _Payment(Event, frozen=True, kw_only=True):
    withheld: ClassVar[tuple[str, ...]] = ("task_id",)

    token_id: str
    caller: str
    payee: str
    amount: str
    currency: str
    task_id: str | None

    @property
    def aggregate_id(self) -> str:
        return self.caller


class A2APaymentSettled(_Payment, frozen=True, kw_only=True):
    """A payment token was settled by this ledger transaction. `counts`: caller and payee have different owners."""

    source: ClassVar[str] = "ledger"
    is_always_recorded: ClassVar[bool] = True

    tx_id: int
    fee: str
    counts: bool


class A2APaymentFailed(_Payment, frozen=True, kw_only=True):
    """The settlement of a payment token failed for this reason; nothing was moved."""

    is_private: ClassVar[bool] = True

    reason: str
