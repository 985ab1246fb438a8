"""Payments that an owner's act makes once: a reference, unique for good, stands on their transaction."""

from dataclasses import dataclass

from hansa.foundation.values.money import Minor

from . import orders, rules
from .orders import Order


@dataclass(frozen=True)
class PaymentOrder:
    """A payment to be made; `ref` is its reference, `memo` what its events and the statement say.

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
