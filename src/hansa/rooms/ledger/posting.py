"""Transfers between two accounts of this registry: lock, decide, write, tell."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from hansa.foundation.events import (
    Entry,
    Event,
    LedgerBalanceChanged,
    TokensTransferred,
    TransactionFeeCollected,
)
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import postings_total
from hansa.foundation.words.money import ZERO, Minor, format_amount
from hansa.rooms import journal

from . import rules, store
from .book import Book
from .errors import AccountUnknown


class TransferOrder(msgspec.Struct, frozen=True):
    """What a payer asks for; `amount` in minor units, greater than zero."""

    payer: str
    payee: str
    amount: Minor
    message: str | None = None


class Receipt(msgspec.Struct, frozen=True):
    """What was written; amounts in minor units."""

    tx_id: int
    amount: Minor
    fee: Minor
    payer_balance_after: Minor
    recorded_at: datetime

    def as_text(self) -> str:
        """What is remembered of it beside the order: transaction, fee, balance and time."""
        since_1970 = self.recorded_at - datetime.fromtimestamp(0, UTC)
        return f"{self.tx_id} {self.fee} {self.payer_balance_after} {since_1970 // timedelta(microseconds=1)}"

    @classmethod
    def of_text(cls, kept: str, amount: Minor) -> "Receipt":
        """The receipt that was remembered of an order of `amount`."""
        tx_id, fee, balance, microseconds = map(int, kept.split())
        recorded_at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)
        return cls(tx_id, amount, Minor(fee), Minor(balance), recorded_at)


async def transfer(tx: Tx, order: TransferOrder, book: Book, policy: rules.FeePolicy) -> Receipt:
    """Move units between two agents of this registry; the fee goes to the fee collector on top.

    Raises: SelfTransfer, SystemAccountRefused, AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    rules.require_ordinary_parties(order.payer, order.payee)
    parties = await store.lock_accounts(tx, [order.payer, order.payee])
    payer, payee = _found(parties, order.payer), _found(parties, order.payee)
    fee = rules.fee_of_covered(payer, payee, order.amount, policy)
    await store.keep_pace(tx, payer.id, rules.pace_after_sending(payer, order.amount))
    posted = await store.post(
        tx,
        store.Posting(
            tx_type="transfer",
            payer_id=payer.id,
            payee_id=payee.id,
            amount=order.amount,
            fee=fee,
            message=order.message,
            movements=[(payer.did, -(order.amount + fee)), (payee.did, order.amount)],
            own_movements=[(book.fee_collector, fee)] if fee else [],
        ),
    )
    await journal.append(tx, *transfer_events(posted, order, fee, book))
    postings_total.labels("transfer").inc()
    return Receipt(posted.tx_id, order.amount, fee, posted.balance_after(payer.did), posted.recorded_at)


@dataclass(frozen=True)
class Preview:
    """What a transfer would cost and leave; amounts in minor units."""

    fee: Minor
    payer_balance_after: Minor


async def preview(tx: Tx, order: TransferOrder, policy: rules.FeePolicy) -> Preview:
    """The decision on `order` as things stand, without locks and without effect. Raises: as `transfer`."""
    rules.require_ordinary_parties(order.payer, order.payee)
    parties = await store.read_accounts(tx, [order.payer, order.payee])
    payer, payee = _found(parties, order.payer), _found(parties, order.payee)
    fee = rules.fee_of_covered(payer, payee, order.amount, policy)
    return Preview(fee, rules.after_sending(payer, order.amount, fee).liquid)


def transfer_events(posted: store.Posted, order: TransferOrder, fee: Minor, book: Book) -> list[Event]:
    """The mover and the typed events of one transfer."""
    paid, fee_paid = format_amount(order.amount), format_amount(fee)
    transferred = TokensTransferred(
        tx_id=posted.tx_id,
        from_=order.payer,
        to=order.payee,
        amount=paid,
        fee=fee_paid,
        currency=book.currency,
        message=order.message,
    )
    collected = TransactionFeeCollected(
        tx_id=posted.tx_id,
        payer=order.payer,
        collector=book.fee_collector,
        fee=fee_paid,
        currency=book.currency,
    )
    mover = balance_changed(posted, "transfer", book, fee=fee, memo=order.message)
    return [mover, transferred, collected] if fee else [mover, transferred]


def balance_changed(
    posted: store.Posted, tx_type: str, book: Book, *, fee: Minor = ZERO, memo: str | None = None
) -> LedgerBalanceChanged:
    """The event that moves the balances of one transaction."""
    return LedgerBalanceChanged(
        frame=book.frame,
        tx_id=posted.tx_id,
        tx_type=tx_type,
        currency=book.currency,
        entries=[
            Entry(
                account=did, bucket="liquid", delta=format_amount(delta), balance_after=format_amount(after)
            )
            for did, delta, after in posted.entries
        ],
        fee=format_amount(fee),
        memo=memo,
    )


def _found(parties: dict[str, rules.Account], did: str) -> rules.Account:
    if did not in parties:
        raise AccountUnknown(context={"did": did})
    return parties[did]
