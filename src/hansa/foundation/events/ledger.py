"""Facts of the book. LedgerBalanceChanged alone moves balances; the typed events beside it are for readers."""

from dataclasses import dataclass
from typing import ClassVar

from hansa.foundation.events.base import Event


@dataclass(frozen=True)
class Entry:
    """One side of a ledger transaction: `delta` was added to `bucket` of `account`."""

    account: str
    bucket: str
    delta: str
    balance_after: str


@dataclass(frozen=True)
class LedgerBalanceChanged(Event):
    """One ledger transaction, whole. Its entries sum to zero unless units are issued or destroyed."""

    aggregate_type: ClassVar[str] = "ledger_transaction"
    source: ClassVar[str] = "ledger"

    frame: str
    tx_id: int
    tx_type: str
    currency: str
    entries: list[Entry]
    fee: str
    memo: str | None = None

    @property
    def aggregate_id(self) -> str:
        return self.entries[0].account

    @property
    def unique_key(self) -> str:
        return f"ledger-tx-{self.frame}-{self.tx_id}"


@dataclass(frozen=True)
class TokensIssued(Event):
    """Units came into being in an account of the registry."""

    aggregate_type: ClassVar[str] = "system_account"
    source: ClassVar[str] = "ledger"

    tx_id: int
    to: str
    amount: str
    currency: str
    ref: str

    @property
    def aggregate_id(self) -> str:
        return self.to


@dataclass(frozen=True)
class TokensTransferred(Event):
    """Units went from one account to another; the fee is told apart."""

    source: ClassVar[str] = "ledger"

    tx_id: int
    from_: str
    to: str
    amount: str
    fee: str
    currency: str
    message: str | None = None

    @property
    def aggregate_id(self) -> str:
        return self.from_


@dataclass(frozen=True)
class TransactionFeeCollected(Event):
    """The fee of a transfer went to the fee collector."""

    source: ClassVar[str] = "ledger"

    tx_id: int
    payer: str
    collector: str
    fee: str
    currency: str

    @property
    def aggregate_id(self) -> str:
        return self.payer
