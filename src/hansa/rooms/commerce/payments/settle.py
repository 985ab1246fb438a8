"""Settling a token: its state first, in the request; the transfer runs after the answer (`settlements.py`)."""

from dataclasses import dataclass, field

import msgspec

from hansa.foundation.plumbing.storage.database import Tx, await_standbys
from hansa.foundation.values.money import Minor
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import ledger

from . import rules, store
from .ending import end_unpaid, pay
from .errors import TokenUnknown
from .rules import Terms, Token, Verdict

__all__ = ["SettleOrder", "Settled", "settle", "settle_within"]


@dataclass(frozen=True)
class SettleOrder:
    """Settle request of an agent; with success false or an amount of 0 nothing is paid."""

    secret: str = field(repr=False)
    by: str
    task_id: str | None = None
    success: bool = True
    capture_amount: Minor | None = None

    @property
    def is_payment(self) -> bool:
        """Return whether something is to be paid."""
        return self.success and self.capture_amount != 0


class Settled(msgspec.Struct, frozen=True):
    """Token after the request, and the verdict on the request."""

    token: Token
    verdict: Verdict


async def settle(tx: Tx, order: SettleOrder, book: ledger.Book) -> Settled:
    """Let the token settle, release it, or say why not: the commit may mark it expired, so no status is refused here.

    Raises: TokenUnknown, NotTheCaller, CapturedByPayee, CaptureAmountRefused.
    """
    token_sha256 = fingerprint(order.secret)
    if order.is_payment:
        begun = await store.begin_settlement(tx, token_sha256, order.by, order.task_id, order.capture_amount)
        if begun is not None:
            return Settled(begun, Verdict.SETTLING)
    token = await store.lock_by_hash(tx, token_sha256)
    verdict = rules.judge_settle(token, order.by, success=order.success, capture_amount=order.capture_amount)
    assert token is not None
    match verdict:
        case Verdict.SETTLING:
            # It was under another's lock before.
            begun = await store.begin_settlement(
                tx, token_sha256, order.by, order.task_id, order.capture_amount
            )
            return Settled(begun or token, Verdict.SETTLING if begun else Verdict.EXPIRE)
        case Verdict.RELEASE:
            return Settled(await end_unpaid(tx, token, "released", book), verdict)
        case Verdict.EXPIRE:
            return Settled(await end_unpaid(tx, token, "expired", book), verdict)
        case _:
            # The token ended in an earlier transaction, and the answer may state that it is paid.
            await await_standbys(tx)
            return Settled(token, verdict)


async def settle_within(
    tx: Tx, secret: str, terms: Terms, book: ledger.Book, memo: str | None = None, *, is_part: bool = False
) -> Token:
    """Settle a token in the commit of its purpose; `is_part` of a contract, whose own event counts it.

    Raises: TokenUnknown, TokenMismatch, CapturedByPayee, SettlementInProgress, TokenStatus, TokenExpired, AccountUnknown,
    AccountSuspended, InsufficientBalance.
    """
    token = await store.lock_by_hash(tx, fingerprint(secret))
    if token is None:
        raise TokenUnknown
    rules.require_matching(token, terms)
    return await pay(tx, token, book, memo, is_part=is_part)
