"""Corrections: an administrator moves liquid units between an account of an agent and the treasury, once for each reference.

- Both accounts are locked before the reference is judged, so that no two corrections share one.
- Units are neither made nor destroyed, and no balance becomes negative. A system account is refused: what those hold follows from
  acts of others, and a correction would break the sums that the audit recomputes.
"""

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from hansa.foundation.events import BalanceCorrected
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import is_system_did
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import journal

from . import orders, rules, store
from .book import Book
from .engine import apply
from .errors import AccountUnknown, InsufficientBalance, SystemAccountRefused
from .supply import require_unused

Direction: TypeAlias = Literal["credit", "debit"]


class Correction(msgspec.Struct, frozen=True):
    """Units to move; `direction` is that of the account, whose counterpart is the treasury."""

    account: str
    amount: Minor
    direction: Direction
    ref: str


class Corrected(msgspec.Struct, frozen=True):
    """Receipt of a correction: the liquid balance of the account after it, in minor units."""

    tx_id: int
    liquid: Minor
    recorded_at: datetime


async def correct(tx: Tx, correction: Correction, book: Book) -> Corrected:
    """Move the units. Raises: SystemAccountRefused, AccountUnknown, ReferenceInvalid, ReferenceUsed, InsufficientBalance."""
    rules.require_reference(correction.ref)
    account, is_credit = correction.account, correction.direction == "credit"
    if is_system_did(account):
        raise SystemAccountRefused("Balances of system accounts are not corrected.")
    locked = await store.lock_accounts(tx, [account, book.treasury])
    if account not in locked:
        raise AccountUnknown
    await require_unused(tx, "correction", correction.ref)
    debit, credit = (book.treasury, account) if is_credit else (account, book.treasury)
    order = orders.correction(debit, credit, correction.amount, correction.ref)
    (result,) = await apply(tx, [order], book, uncovered=_not_in_treasury if is_credit else _not_in_account)
    assert result.tx_id is not None
    assert result.credited is not None
    corrected = BalanceCorrected(
        tx_id=result.tx_id,
        account=account,
        amount=format_amount(correction.amount),
        direction=correction.direction,
        currency=book.currency,
        ref=correction.ref,
    )
    await journal.append(tx, corrected)
    return Corrected(result.tx_id, result.credited if is_credit else result.balance, result.recorded_at)


def _not_in_account(available: int, required: int) -> InsufficientBalance:
    return _uncovered("account", available, required)


def _not_in_treasury(available: int, required: int) -> InsufficientBalance:
    return _uncovered("treasury", available, required)


def _uncovered(holder: str, available: int, required: int) -> InsufficientBalance:
    held, needed = format_amount(available), format_amount(required)
    return InsufficientBalance(
        f"The {holder} holds {held} liquid units: {needed} cannot be taken from it.",
        context={"available": held, "required": needed},
    )
