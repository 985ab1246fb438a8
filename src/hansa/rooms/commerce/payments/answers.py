"""Answers that need more than one act: a token kept sealed for a repeated request, a settlement that is waited for."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Sequence

from hansa.foundation.plumbing import idempotency
from hansa.foundation.plumbing.caller import Agent
from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.idempotency import Repeatable
from hansa.foundation.plumbing.seal import BadSeal, Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms import agents, ledger, transfers

from . import rules
from .authorize import Authorized, AuthorizeOrder, Presented, authorize
from .errors import AnswerUnreadable
from .firm_quote import read_quote
from .rules import Token, Verdict
from .schemas import AuthorizeOut
from .settle import SettleOrder, settle
from .settlements import Settlements

SEALED_FOR = "payment authorization"
LINES_AT_ONCE = 4


async def authorize_once(
    db: Database,
    seal: Seal,
    agent: Agent,
    order: AuthorizeOrder,
    settings: Settings,
    *,
    request: Repeatable | None,
    capability_token: str | None,
    quote_token: str | None = None,
) -> tuple[str, bool]:
    """The answer with the token, and whether it is a repetition.

    What is kept of it under the Idempotency-Key opens only with that key, and is deleted after its 24 hours.

    Raises: what `authorize` and `read_quote` raise, KeyReused, KeyInProgress, ApprovalRequired, AnswerUnreadable.
    """

    async def act(tx: Tx) -> tuple[str, bool] | agents.Approval:
        if request and (kept := await idempotency.recall(tx, request)) is not None:
            return _opened(seal, request, kept), True
        # After the recall: a repeated request gets its answer although the quote is used, or over by then.
        quoted = await read_quote(tx, agent.did, order, quote_token) if quote_token is not None else None
        presented = Presented(capability_token, request.scope if request else None, quoted)
        made = await authorize(tx, agent, order, settings, presented)
        if not isinstance(made, Authorized):
            return made
        out = AuthorizeOut.of(made, settings.settlement_currency, settings.base_url)
        answer = out.model_dump_json()
        if request:
            sealed = seal.close_under(request.key, answer.encode(), SEALED_FOR)
            await idempotency.remember(tx, request, b64encode(sealed).decode())
        return answer, False

    done = await db.act(act)
    if isinstance(done, agents.Approval):
        # Committed all the same: the owner is asked.
        raise transfers.ApprovalRequired(
            "The agent's owner has to approve this payment; then repeat the request with approval_id.",
            context={"approval_id": str(done.id), "expires_at": done.expires_at.isoformat()},
        )
    return done


def _opened(seal: Seal, request: Repeatable, kept: str) -> str:
    try:
        return seal.open_under(request.key, b64decode(kept), SEALED_FOR).decode()
    except BadSeal:
        raise AnswerUnreadable from None


async def settle_and_answer(
    db: Database, settlements: Settlements, order: SettleOrder, book: ledger.Book, wait: int | None
) -> Token:
    """The token as the answer to a settle request has it; the transfer runs beside the request.

    With `wait` the outcome is waited for, so many seconds: settled, failed, or settling when it is not known yet. Then a
    token that is to be released and was is released: the first answer may have been lost.

    Raises: TokenUnknown, NotTheCaller, CapturedByPayee, CaptureAmountRefused, SettlementInProgress, TokenStatus,
    TokenExpired.
    """
    done = await db.act(lambda tx: settle(tx, order, book))
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
    """Whether the token had ended in a way that answers the request instead of refusing it."""
    return token.status == "failed" or (token.status == "released" and not order.success)


async def settle_many(
    db: Database,
    settlements: Settlements,
    orders: Sequence[SettleOrder],
    book: ledger.Book,
    wait: int | None,
) -> list[Token | Refused]:
    """What became of each token, in order; with `wait` their outcomes are waited for together."""
    places = asyncio.Semaphore(LINES_AT_ONCE)

    async def one(order: SettleOrder) -> Token | Refused:
        async with places:
            try:
                return await settle_and_answer(db, settlements, order, book, None if wait is None else 0)
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
