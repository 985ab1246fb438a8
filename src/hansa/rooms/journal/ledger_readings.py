"""What the journal shows of the ledger, which stands above it: supplied at assembly."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.words.money import Minor


@dataclass(frozen=True)
class AccountKey:
    """The key of a LedgerBalanceChanged in which an account takes part; `position` rises with the account's history."""

    position: int
    key: str


@dataclass(frozen=True)
class Held:
    """What one bucket of an account holds, in minor units; never nothing."""

    account: str
    bucket: str
    amount: Minor


@dataclass(frozen=True)
class LedgerReadings:
    """The slot.

    `keys_of_account(tx, did, frame, after, limit)` answers the next keys of an account past a position.
    `balances(tx)` yields what every bucket holds, ordered by account and bucket as bytes.
    """

    keys_of_account: Callable[[Tx, str, str, int, int], Awaitable[list[AccountKey]]]
    balances: Callable[[Tx], AsyncIterator[Held]]


async def _readings_of(request: Request) -> LedgerReadings:
    readings: LedgerReadings = request.app.state.ledger_readings
    return readings


OfLedger = Annotated[LedgerReadings, Depends(_readings_of)]
