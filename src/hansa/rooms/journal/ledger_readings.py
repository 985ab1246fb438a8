"""Ledger readings of the journal: a slot that the ledger, a room above, fills."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Protocol

import msgspec
from fastapi import Depends

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor


class AccountKey(msgspec.Struct, frozen=True):
    """The key of a LedgerBalanceChanged in which an account takes part; `position` rises with the account's history."""

    position: int
    key: str


class Held(msgspec.Struct, frozen=True):
    """Content of one bucket of an account, in minor units; never nothing."""

    account: str
    bucket: str
    amount: Minor


class AccountCount(msgspec.Struct, frozen=True):
    """How many transactions an account takes part in.

    `untyped`: of how many of them only the movement is recorded. `with_fee_paid`: for how many it paid a fee. `payments`:
    how many are payments of tokens.
    """

    transactions: int
    untyped: int
    with_fee_paid: int
    payments: int


class KeysOfAccount(Protocol):
    """The keys of an account from a position on, without it: the next newer ones, or with `newest_first` the next older."""

    async def __call__(
        self, tx: Tx, did: str, frame: str, position: int, limit: int, *, newest_first: bool
    ) -> list[AccountKey]: ...


class LedgerReadings(msgspec.Struct, frozen=True):
    """Functions that fill the slot.

    `keys_of_account` returns the keys of an account in the order of its history, `count_of_account` how many there are.
    `balances(tx)` yields the content of every bucket, ordered by account and bucket as bytes.
    """

    keys_of_account: KeysOfAccount
    count_of_account: Callable[[Tx, str], Awaitable[AccountCount]]
    balances: Callable[[Tx], AsyncIterator[Held]]


LEDGER_READINGS: Slot[LedgerReadings] = Slot("journal: readings of the ledger")

OfLedger = Annotated[LedgerReadings, Depends(LEDGER_READINGS.given)]
