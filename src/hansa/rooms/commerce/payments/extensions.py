"""Payment tokens as extensions of the ledger's orders: their rows change in the commit that moves units.

The database's side is `sql/payment_orders.sql`.
"""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.values.money import Minor
from hansa.rooms import ledger

from . import rules
from .rules import Token
from .store import NewToken


class Authorization(NewToken, frozen=True, kw_only=True):
    """A token of a caller whose balance is at least `required`; `sealed` is remembered with the answer."""

    required: int
    sealed: str | None


class Written(msgspec.Struct, frozen=True):
    """Token that was written, with the stored facts about it."""

    expires_at: datetime
    sealed: str | None


class Settlement(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token that is settled.

    `begun`: its row is locked and judged by the caller. `is_part`: the payment is counted as a whole by its own event, as a
    contract is, so that this payment does not count beside it.
    """

    token_id: UUID
    frame: str
    currency: str
    task_id: str | None = None
    capture_amount: Minor | None = None
    begun: bool = False
    is_part: bool = False


class Settled(msgspec.Struct, frozen=True):
    """Result of the database for a token that was settled."""

    ended_at: datetime
    counts: bool


class Release(msgspec.Struct, frozen=True):
    """A token that is released."""

    token_id: UUID


class Released(msgspec.Struct, frozen=True):
    """When a token was released."""

    ended_at: datetime


AUTHORIZE = ledger.Extension("commerce_authorize", Authorization, Written, is_recorded=False)
SETTLE = ledger.Extension("commerce_settle", Settlement, Settled)
RELEASE = ledger.Extension("commerce_release", Release, Released)


def payment_line(token: Token, memo: str | None) -> ledger.Order:
    """The payment of a token. Raises: as `ledger.payment_line`, also when it is carried out."""
    return ledger.payment_line(
        ledger.PaymentOrder(
            payer=token.caller,
            payee=token.payee,
            amount=token.paid,
            ref=rules.payment_reference(token.id),
            memo=memo,
            fee=token.fixed_fee,
            hold_id=token.hold_id,
        )
    )


def settled(token: Token, done: ledger.Result | ledger.Receipt) -> Token:
    """The token after its payment."""
    judged = SETTLE.outcome_of(done)
    return replace(
        token,
        status="settled",
        tx_id=done.tx_id,
        fee=done.fee,
        counts=judged.counts,
        ended_at=judged.ended_at,
    )
