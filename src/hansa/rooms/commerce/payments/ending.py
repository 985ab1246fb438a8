"""The ends of a token: paid, or not. In one commit its row, its caller's budget, its hold and the payment agree.

Giving a token up while it is unused, and the end of those whose time is over.
"""

from uuid import UUID

import structlog

from hansa.foundation.events import A2APaymentFailed
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import agents, journal, ledger

from . import budget_store, overdue_store, rules, store
from .authorize import HOLD_OWNER
from .extensions import SETTLE, Settlement, payment_line, settled
from .overdue_store import DueToken
from .rules import Status, Token

EXPIRED_AT_ONCE = 1000
_log = structlog.get_logger()


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
    await count_end(tx, token, ZERO)
    return ended


async def pay(tx: Tx, token: Token, book: ledger.Book, memo: str | None, *, is_part: bool = False) -> Token:
    """Pay a locked, open or settling token; the part that its payee does not capture goes back to the caller.

    Raises: AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    await _return_budget(tx, token, Minor(token.amount - token.paid), is_unused=False)
    settlement = Settlement(token.id, book.frame, book.currency, begun=True, is_part=is_part)
    order = SETTLE.on(payment_line(token, memo), settlement)
    (result,) = await ledger.apply(tx, [order], book)
    await count_end(tx, token, token.paid)
    return settled(token, result)


async def count_end(tx: Tx, token: Token, paid: Minor) -> None:
    """Count a token that ends now in the budget of its purchases, if there is one."""
    if token.purchase_budget_id is not None:
        await budget_store.count_end(tx, token.purchase_budget_id, token.amount, paid)


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


async def release(tx: Tx, secret: str, by: str, book: ledger.Book) -> Token:
    """Release an authorized token. Raises: TokenUnknown, NotTheCaller, TokenStatus."""
    token = rules.require_releasable(await store.lock_by_hash(tx, fingerprint(secret)), by)
    return await end_unpaid(tx, token, "released", book)


async def release_by_id(tx: Tx, token_id: UUID, by: str, book: ledger.Book) -> Token:
    """Release a token, as `release` does, by its id."""
    token = rules.require_releasable(await store.lock(tx, token_id), by)
    return await end_unpaid(tx, token, "released", book)


async def release_all(tx: Tx, caller: str, book: ledger.Book) -> None:
    """Release every authorized token of a caller."""
    for token_id in await store.authorized_of(tx, caller):
        token = await store.lock(tx, token_id)
        if token is not None and token.status == "authorized":
            await end_unpaid(tx, token, "released", book)


async def count_unsettled(tx: Tx, did: str) -> int:
    """The number of tokens that a service uses or that settle, of which the agent is a party."""
    return await store.count_unsettled(tx, did)


async def expire_due_tokens(runtime: Runtime) -> None:
    """Expire every open token whose time is over; its reserved units and its counted budget go back to its caller."""
    database = runtime.database
    while (
        await database.transaction(lambda tx: overdue_store.expire_plain(tx, EXPIRED_AT_ONCE))
        == EXPIRED_AT_ONCE
    ):
        pass
    last: DueToken | None = None
    while due := await database.query(lambda tx, after=last: overdue_store.due(tx, after, EXPIRED_AT_ONCE)):  # type: ignore[misc]
        for token in due:
            await _expire_or_leave(runtime, token.id)
        last = due[-1]


async def _expire_or_leave(runtime: Runtime, token_id: UUID) -> None:
    """Expire a token; one that cannot be ended is left for the next round and hinders none behind it. Raises: Unavailable."""
    try:
        await expire(runtime, token_id)
    except Unavailable:
        raise
    except Exception:  # noqa: BLE001
        _log.exception("payment token cannot be expired", token_id=str(token_id))


async def expire(runtime: Runtime, token_id: UUID) -> None:
    """Expire one token if its time is over."""
    book = ledger.Book.of(runtime.settings)

    async def expired(tx: Tx) -> None:
        token = await store.lock(tx, token_id)
        if token is not None and token.status in rules.OPEN and token.is_expired:
            await end_unpaid(tx, token, "expired", book)

    await runtime.database.transaction(expired)
