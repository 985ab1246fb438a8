"""Facts of the book. LedgerBalanceChanged alone moves balances; the typed events beside it are for readers."""

from typing import ClassVar

import msgspec

from hansa.foundation.events.base import Event


def ledger_key(frame: str, tx_id: int) -> str:
    """The key of the event that moves the balances of a ledger transaction."""
    return f"ledger-tx-{frame}-{tx_id}"


class Entry(msgspec.Struct, frozen=True):
    """One side of a ledger transaction: `delta` was added to `bucket` of `account`."""

    account: str
    bucket: str
    delta: str
    balance_after: str


class LedgerBalanceChanged(Event, frozen=True):
    """One ledger transaction, whole. Its entries sum to zero unless units are issued or destroyed."""

    aggregate_type: ClassVar[str] = "ledger_transaction"
    source: ClassVar[str] = "ledger"
    is_always_recorded: ClassVar[bool] = True
    withheld: ClassVar[tuple[str, ...]] = ("memo", "entries.balance_after")

    frame: str
    tx_id: int
    tx_type: str
    currency: str
    entries: list[Entry]
    fee: str
    memo: str | None = None
    counterparty_frame: str | None = None
    """The ledger id of the other registry, where units crossed."""

    @property
    def aggregate_id(self) -> str:
        return self.entries[0].account

    @property
    def unique_key(self) -> str:
        return ledger_key(self.frame, self.tx_id)


class TokensIssued(Event, frozen=True):
    """Units came into being in an account of the registry."""

    aggregate_type: ClassVar[str] = "system_account"
    source: ClassVar[str] = "ledger"
    is_always_recorded: ClassVar[bool] = True

    tx_id: int
    to: str
    amount: str
    currency: str
    ref: str

    @property
    def aggregate_id(self) -> str:
        return self.to


class CrossRegistryTransferCompleted(Event, frozen=True):
    """A transfer between an agent here and one of another registry is final; `direction` is out or in.

    It moves nothing itself. `fee` is what the receiver's registry kept; of a swap, what stayed in the pool.
    `amount_received` and `fee` are in `currency_received`. `counts` is null but for a payment of a payment token or a contract
    that came in: whether it enters the record of the payee, whose owner then has no area of the administration. A swap never does.
    `counted_fee` is the part of `fee` that is evidence for scores and marks; null with `counts`.
    """

    source: ClassVar[str] = "ledger"
    is_always_recorded: ClassVar[bool] = True

    transfer_id: str
    direction: str
    sender_did: str
    receiver_did: str
    amount: str
    amount_received: str
    fee: str
    currency: str
    counterparty_frame: str
    currency_received: str | None = None
    counts: bool | None = None
    counted_fee: str | None = None

    @property
    def aggregate_id(self) -> str:
        return self.sender_did if self.direction == "out" else self.receiver_did


class _Bridged(Event, frozen=True, kw_only=True):
    source: ClassVar[str] = "ledger"

    saga_id: str
    sender_did: str
    receiver_did: str
    amount: str
    currency: str
    wrapped_currency: str
    home_frame: str
    holding_frame: str


class UnitsWrapped(_Bridged, frozen=True):
    """Units are locked at their home and held wrapped at another registry; recorded once on each side."""

    @property
    def aggregate_id(self) -> str:
        return self.sender_did


class UnitsUnwrapped(_Bridged, frozen=True):
    """Wrapped units ended, and as many were unlocked at their home; recorded once on each side."""

    @property
    def aggregate_id(self) -> str:
        return self.sender_did


class BalanceCorrected(Event, frozen=True):
    """An administrator moved liquid units between an account and the treasury; `direction`, credit or debit, is that of the account."""

    source: ClassVar[str] = "ledger"
    is_always_recorded: ClassVar[bool] = True

    tx_id: int
    account: str
    amount: str
    direction: str
    currency: str
    ref: str

    @property
    def aggregate_id(self) -> str:
        return self.account


class TokensDestroyed(Event, frozen=True, rename={"from_": "from"}):
    """Units of an account of the registry ceased to be."""

    aggregate_type: ClassVar[str] = "system_account"
    source: ClassVar[str] = "ledger"
    is_always_recorded: ClassVar[bool] = True

    tx_id: int
    from_: str
    amount: str
    currency: str
    ref: str

    @property
    def aggregate_id(self) -> str:
        return self.from_


class TokensTransferred(Event, frozen=True, rename={"from_": "from"}):
    """Units went from one account to another; the fee is an event of its own."""

    source: ClassVar[str] = "ledger"
    withheld: ClassVar[tuple[str, ...]] = ("message",)

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


class TransactionFeeCollected(Event, frozen=True):
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


class TokensStaked(Event, frozen=True):
    """Units of an account went from liquid to staked, into a new position."""

    source: ClassVar[str] = "ledger"

    tx_id: int
    account: str
    position_id: str
    amount: str
    currency: str
    lock_period: int
    unlocks_at: str

    @property
    def aggregate_id(self) -> str:
        return self.account


class PositionDrawn(msgspec.Struct, frozen=True):
    """What was taken out of one position."""

    position_id: str
    amount: str


class TokensUnstaked(Event, frozen=True):
    """Units of an account went from staked to liquid, out of these positions."""

    source: ClassVar[str] = "ledger"

    tx_id: int
    account: str
    amount: str
    currency: str
    positions: list[PositionDrawn]

    @property
    def aggregate_id(self) -> str:
        return self.account


class RewardsDistributed(Event, frozen=True, rename={"from_": "from"}):
    """The fee collector paid an agent what its stakes earned."""

    source: ClassVar[str] = "ledger"

    tx_id: int
    from_: str
    to: str
    amount: str
    currency: str

    @property
    def aggregate_id(self) -> str:
        return self.to


class RewardCompounded(msgspec.Struct, frozen=True):
    """Reward that was added to one position."""

    position_id: str
    amount: str


class RewardsAutoCompounded(Event, frozen=True, rename={"from_": "from"}):
    """The fee collector paid what positions of an account earned into these positions."""

    source: ClassVar[str] = "ledger"

    tx_id: int
    from_: str
    account: str
    amount: str
    currency: str
    positions: list[RewardCompounded]

    @property
    def aggregate_id(self) -> str:
        return self.account
