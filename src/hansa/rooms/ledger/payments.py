"""Payments that an owner's act makes once: a reference, unique for good, stands on their transaction."""

from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from . import orders, rules, store
from .orders import Order


class PaymentMade(msgspec.Struct, frozen=True):
    """A transfer or a capture between two agents, in minor units."""

    payer: str
    payee: str
    amount: Minor
    fee: Minor
    recorded_at: datetime
    transfer_id: UUID | None = None
    """Of one to an agent of another registry: the transfer, which both registries know by it."""


class Referenced(msgspec.Struct, frozen=True):
    """Payment with its reference; `amount` in minor units, without the fee."""

    tx_id: int
    ref: str
    amount: Minor


class PaymentOrder(msgspec.Struct, frozen=True):
    """Payment to be made; `ref` is its reference, `memo` the text in its events and the statement.

    With `hold_id` it is captured from that hold, the rest of which is freed, at the fee that the hold fixed. Otherwise
    `fee` is the absolute fee, or None for that of a transfer as of now.
    """

    payer: str
    payee: str
    amount: Minor
    ref: str
    memo: str | None = None
    fee: Minor | None = None
    hold_id: int | None = None


def payment_line(order: PaymentOrder) -> Order:
    """The payment as an order of the engine; both parties must be active. Raises: SelfTransfer, SystemAccountRefused.

    Carrying it out raises AccountUnknown, AccountSuspended, InsufficientBalance, HoldUnknown, HoldEnded, HoldExpired,
    HoldExceeded; asyncpg.UniqueViolationError when a payment with this reference was made.
    """
    rules.require_ordinary_parties(order.payer, order.payee)
    if order.hold_id is None:
        return orders.payment(
            order.payer, order.payee, order.amount, order.ref, fee=order.fee, memo=order.memo
        )
    return orders.final_capture(order.hold_id, order.amount, order.ref, payee=order.payee, memo=order.memo)


async def find_payment(tx: Tx, tx_id: int) -> PaymentMade | None:
    """The payment that this transaction made; None where it is none of two agents."""
    row = await store.payment(tx, tx_id)
    return None if row is None else PaymentMade(**row)


async def find_payment_abroad(tx: Tx, tx_id: int) -> PaymentMade | None:
    """Find the committed transfer to an agent of another registry by its transaction, or None."""
    row = await store.payment_abroad(tx, tx_id)
    return None if row is None else PaymentMade(**row)


async def referenced(tx: Tx, prefix: str, after_tx: int) -> list[Referenced]:
    """The payments within this registry above this transaction whose reference begins so."""
    return [Referenced(**row) for row in await store.referenced(tx, prefix, after_tx)]
