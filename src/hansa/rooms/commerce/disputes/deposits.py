"""Deposit of a complainant: a hold that returns when the dispute closes, and goes to the treasury when it is dismissed."""

from decimal import Decimal

from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import ledger

from . import store
from .dispute import DepositPolicy, Dispute, Ruling
from .errors import DepositUncovered

OWNER_KIND = "dispute_deposit"


def policy_of(settings: Settings) -> DepositPolicy:
    """The settings of deposits."""
    return DepositPolicy(
        Decimal(settings.dispute_deposit_percent), parse_amount(settings.dispute_deposit_minimum)
    )


async def make(tx: Tx, dispute: Dispute, amount: Minor, settings: Settings) -> Dispute:
    """Hold the deposit of a new dispute. Raises: DepositUncovered."""
    if not amount:
        return dispute
    book = ledger.Book.of(settings)
    held_for = ledger.NewHold(OWNER_KIND, str(dispute.id), book.treasury)
    order = ledger.orders.deposit(dispute.complainant_did, amount, held_for)
    try:
        (result,) = await ledger.apply(tx, [order], book)
    except ledger.InsufficientBalance as short:
        raise DepositUncovered(context=short.context) from None
    assert result.hold_id is not None
    await store.note_deposit(tx, dispute.id, amount, result.hold_id)
    return replace(dispute, deposit_amount=amount, deposit_hold_id=result.hold_id)


async def settle(tx: Tx, dispute: Dispute, settings: Settings) -> None:
    """Return the deposit of a decided dispute, or pay it to the treasury where the dispute is dismissed."""
    if dispute.deposit_hold_id is None:
        return
    order = ledger.orders.release(dispute.deposit_hold_id)
    if dispute.ruling is Ruling.DISMISSED:
        order = ledger.orders.award(dispute.deposit_hold_id, dispute.deposit_amount)
    await ledger.apply(tx, [order], ledger.Book.of(settings))
