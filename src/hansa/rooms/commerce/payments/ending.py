"""The ends of a token: paid, or not. In one commit its row, its caller's budget, its hold and the payment agree."""

from hansa.foundation.events import A2APaymentFailed
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import agents, journal, ledger

from . import store
from .authorize import HOLD_OWNER
from .extensions import SETTLE, Settlement, payment_line, settled
from .rules import Status, Token


async def end_unpaid(
    tx: Tx, token: Token, status: Status, book: ledger.Book, reason: str | None = None
) -> Token:
    """End a locked, open or settling token without a payment: its budget and its reserve go back to the caller."""
    ended = await store.end(tx, token.id, status, reason)
    await _return_budget(tx, token, token.amount, is_unused=True)
    if status == "failed":
        await journal.append(tx, _failed(ended, book))
    if token.hold_id is not None and await _is_open(tx, token):
        await ledger.release_hold(tx, token.hold_id, book)
    return ended


async def pay(tx: Tx, token: Token, book: ledger.Book, memo: str | None, *, is_part: bool = False) -> Token:
    """Pay a locked, open or settling token; the part that its payee does not capture goes back to the caller.

    Raises: AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    await _return_budget(tx, token, Minor(token.amount - token.paid), is_unused=False)
    settlement = Settlement(token.id, book.frame, book.currency, begun=True, is_part=is_part)
    order = SETTLE.on(payment_line(token, memo), settlement)
    (result,) = await ledger.apply(tx, [order], book)
    return settled(token, result)


async def _return_budget(tx: Tx, token: Token, amount: Minor, *, is_unused: bool) -> None:
    if amount == 0 or not token.is_budgeted:
        return
    held = agents.HeldBudget(token.is_counted, token.capability_id, token.grant_id)
    await agents.return_budget(tx, token.caller, held, amount, held_at=token.created_at, is_unused=is_unused)


async def _is_open(tx: Tx, token: Token) -> bool:
    """Return whether the ledger's own sweep has not freed the hold of a token that its owner left for long."""
    holds = await ledger.read_holds(tx, HOLD_OWNER, str(token.id))
    return any(hold.id == token.hold_id and hold.remaining > 0 for hold in holds)


def _failed(token: Token, book: ledger.Book) -> A2APaymentFailed:
    assert token.reason is not None
    return A2APaymentFailed(
        token_id=str(token.id),
        caller=token.caller,
        payee=token.payee,
        amount=format_amount(token.paid),
        currency=book.currency,
        task_id=token.task_id,
        reason=token.reason,
    )
