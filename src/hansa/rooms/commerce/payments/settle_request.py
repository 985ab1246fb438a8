"""Answers that need more than one act: a token kept sealed for a repeated request, a settlement that is waited for."""

import asyncio
from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Answer
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms import agents, ledger, transfers

from . import rules
from .authorize import Authorized, Presented, authorize
from .quote import read_quote
from .rules import Token, Verdict
from .settle import SettleOrder, settle
from .settlement_worker import Settlements
from .stored_answer import AuthorizeAnswer

LINES_AT_ONCE = 4
STALLED_SECONDS = 2.0
"""A ledger that does not answer for so long is not waited for."""


async def authorize_alone(
    db: Database,
    agent: Agent,
    answer: AuthorizeAnswer,
    *,
    capability_token: str | None,
    quote_token: str | None = None,
) -> Answer:
    """Authorize a token that cannot be authorized in the ledger's batch (`PaymentBatch.authorize`); return the answer, and whether it is a repetition.

    The stored answer opens only with its Idempotency-Key, and is deleted after its 24 hours.

    Raises: the errors of `authorize` and `read_quote`, KeyReused, KeyInProgress, ApprovalRequired, StoredAnswerUnreadable.
    """
    order, request = answer.order, answer.request

    async def act(tx: Tx) -> Answer | agents.Approval:
        if request and (stored := await idempotency.recall(tx, request)) is not None:
            return Answer(answer.repeated(stored), replayed=True)
        # After the recall: a repeated request gets its answer although the quote is used, or over by then.
        quoted = await read_quote(tx, agent.did, order, quote_token) if quote_token is not None else None
        presented = Presented(capability_token, request.scope if request else None, quoted)
        made = await authorize(tx, agent, order, answer.settings, presented)
        if not isinstance(made, Authorized):
            return made
        shown = answer.shown(made.secret, made.token.id, made.token.expires_at)
        if request:
            await idempotency.remember(tx, request, answer.sealed(shown))
        return Answer(shown, replayed=False)

    done = await db.transaction(act)
    if isinstance(done, agents.Approval):
        # Committed all the same: the owner is asked.
        raise transfers.ApprovalRequired(
            "The agent's owner has to approve this payment; then repeat the request with approval_id.",
            context={"approval_id": str(done.id), "expires_at": done.expires_at.isoformat()},
        )
    return done


async def settle_and_answer(
    db: Database, settlements: Settlements, order: SettleOrder, book: ledger.Book, wait: int | None
) -> Token:
    """The token as the answer to a settle request has it.

    Most are paid at once (`settle_at_once`). Where that is refused, the transfer runs beside the request and fails with its
    reason (`settle_alone`). Without `wait` the answer is settling, whatever is known by then. With it the outcome is waited for, so many
    seconds: settled, failed, or settling when it is not known yet; and a token that is to be released and was is released:
    the first answer may have been lost.

    Raises: TokenUnknown, NotTheCaller, CapturedByPayee, CaptureAmountRefused, SettlementInProgress, TokenStatus,
    TokenExpired.
    """
    paid = await settle_at_once(settlements, order, wait)
    return paid or await settle_alone(db, settlements, order, book, wait)


async def settle_at_once(
    settlements: Settlements, order: SettleOrder, wait: int | None, caller_version: int | None = None
) -> Token | None:
    """The answer for a token that is paid in the ledger's batch, None where it is to be judged by itself.

    That is so as well where the ledger does not answer: the token settles, and is paid after the answer. Raises: CallerChanged,
    Unavailable.
    """
    if not order.is_payment:
        return None
    try:
        async with asyncio.timeout(STALLED_SECONDS):
            paid = await settlements.at_once(order, caller_version)
    except TimeoutError:
        return None
    return paid if paid is None or wait is not None else rules.as_settling(paid)


async def settle_alone(
    db: Database, settlements: Settlements, order: SettleOrder, book: ledger.Book, wait: int | None
) -> Token:
    """Settle a token that cannot be paid at once, as `settle_and_answer` does."""
    done = await db.transaction(lambda tx: settle(tx, order, book))
    if done.verdict is Verdict.SETTLING:
        settlements.start(done.token.id)
    if done.verdict in {Verdict.SETTLED, Verdict.RELEASE}:
        return done.token
    if wait is not None and done.verdict in {Verdict.SETTLING, Verdict.UNDER_WAY}:
        return await settlements.outcome(done.token.id, wait)
    if done.verdict is Verdict.SETTLING or (wait is not None and _is_outcome(done.token, order)):
        return done.token
    raise rules.refusal_of(done.token)


def _is_outcome(token: Token, order: SettleOrder) -> bool:
    """Return whether the token had ended with an outcome that answers the request instead of refusing it."""
    return token.status == "failed" or (token.status == "released" and not order.success)


async def settle_many(
    db: Database,
    settlements: Settlements,
    orders: Sequence[SettleOrder],
    book: ledger.Book,
    wait: int | None,
) -> list[Token | Refused]:
    """Settle tokens and return the outcome of each, in order; with `wait` their outcomes are waited for together."""
    places = asyncio.Semaphore(LINES_AT_ONCE)

    async def one(order: SettleOrder) -> Token | Refused:
        if paid := await settle_at_once(settlements, order, wait):
            return paid
        async with places:
            try:
                return await settle_alone(db, settlements, order, book, None if wait is None else 0)
            except Unavailable:
                raise
            except Refused as refusal:
                return refusal

    async def known(outcome: Token | Refused) -> Token | Refused:
        if wait is None or isinstance(outcome, Refused) or outcome.status != "settling":
            return outcome
        return await settlements.outcome(outcome.id, wait)

    begun = await asyncio.gather(*(one(order) for order in orders))
    return await asyncio.gather(*(known(outcome) for outcome in begun))
