"""Payments in two calls: a preview writes an intent, and the intent is paid once.

- The id of the intent is the Idempotency-Key of the payment; it is marked as paid in the payment's commit.
- A repeated payment gets the first answer, a day later the state of the payment alone.
"""

from functools import partial
from typing import Any

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.in_process import InnerAnswer, InnerCall
from hansa.foundation.values.errors import Conflict
from hansa.foundation.values.money import ZERO, Minor, format_amount, parse_amount
from hansa.rooms import agents, commerce

from . import inputs
from .answers import Shaped, portion, shaped
from .exchange import Exchange
from .refusals import approval_required, of_answer

BUY, SEND = "buy_call", "send_units"
BUY_ROUTE, SEND_ROUTE = "/api/v1/a2a-payment/buy", "/api/v1/teg/send"
LOCAL = "local"
PRICE_ABOVE = "PRICE_ABOVE_MAXIMUM"
QUOTE_ROUTE = "/api/v1/a2a-payment/quote"
DIGEST = "call_digest"
"""Member beside the arguments of an intent: the call of a tool that it is for."""


class PriceRose(Conflict):
    """The service costs more than the intent may pay."""

    code = "PRICE_ABOVE_INTENT"
    sentence = "The price rose since the preview; nothing was paid."
    remedy = "Preview the call again, and show the new price before it is paid."


class IntentOfOtherCall(Conflict):
    """The intent was opened by a call of another tool, or with other arguments."""

    code = "INTENT_OF_OTHER_CALL"
    sentence = "The intent is for another call: the same tool with the same arguments is paid under it."
    remedy = "Repeat the call as it was made first, with its intent, or make it without one for a new intent."


class _Payment(msgspec.Struct, frozen=True):
    """Tool that pays an intent, and the body of its route."""

    tool: str
    order: dict[str, Any]


class _Paying(msgspec.Struct, frozen=True):
    """Tool that pays an intent, its route, and the digest of the call that the intent must be for."""

    tool: str
    route: str
    digest: str | None = None


async def preview_call(exchange: Exchange, given: inputs.PreviewCall) -> Shaped:
    """The price of a call, and the intent that buys it at this price or less."""
    agent = await exchange.caller.acting(exchange.runtime, given.as_)
    order: dict[str, Any] = {"target_agent_did": given.agent}
    if given.request is not None:
        order["request"] = given.request.model_dump()
    else:
        order["message"] = given.message
    return await price_call(exchange, agent, order)


async def price_call(
    exchange: Exchange, agent: Agent, order: dict[str, Any], digest: str | None = None
) -> Shaped:
    """The price of an order without its maximum, and the intent that buys it; with `digest` for that call of a tool alone.

    Raises: ServiceNotCallable, PriceNotPayable, QuotaReached.
    """
    payee = order["target_agent_did"]
    quoted = await exchange.ask(InnerCall("GET", QUOTE_ROUTE, {"target_agent_did": payee}), agent)
    if quoted.is_refusal:
        return of_answer(quoted)
    if not await exchange.runtime.database.query(lambda tx: agents.statuses_of(tx, [payee])):
        raise commerce.ServiceNotCallable("A purchase is possible only from an agent of this registry.")
    price = quoted.content["amount"]
    if price is None or parse_amount(price) == ZERO:
        raise commerce.PriceNotPayable
    costs = {"price": price, "fee": quoted.content["fee"], "total": quoted.content["total"], "route": "local"}
    previewed = {**order, "max_amount": price, **({} if digest is None else {DIGEST: digest})}
    return await _previewed(exchange, agent, _Payment(BUY, previewed), price, costs)


async def preview_transfer(exchange: Exchange, given: inputs.PreviewTransfer) -> Shaped:
    """The cost of a transfer, and the intent that sends it."""
    agent = await exchange.caller.acting(exchange.runtime, given.as_)
    order = {"receiver_did": given.receiver, "amount": given.amount}
    if given.message is not None:
        order["message"] = given.message
    planned = await exchange.ask(InnerCall("POST", SEND_ROUTE, body={**order, "dry_run": True}), agent)
    if planned.is_refusal:
        return of_answer(planned)
    fee, route = planned.content["fee_amount"], planned.content["method"]
    total = parse_amount(given.amount)
    if route == LOCAL:
        # The fee of a transfer to another registry is kept of the amount.
        total = Minor(total + parse_amount(fee))
    costs = {"amount": given.amount, "fee": fee, "total": format_amount(total), "route": route}
    return await _previewed(exchange, agent, _Payment(SEND, order), given.amount, costs)


async def buy_call(exchange: Exchange, given: inputs.BuyCall, digest: str | None = None) -> Shaped:
    """Pay an intent of a call, and show the answer of the service from `offset` on; with `digest` only for that call of a tool.

    Raises: IntentOfOtherCall, PriceRose, and the refusals of an intent and of the acting agent.
    """
    paid = await _paid(exchange, _Paying(BUY, BUY_ROUTE, digest), given.intent)
    if isinstance(paid, Shaped):
        return paid
    answer, place = portion(paid.content["answer"], given.offset)
    bought = {**paid.content, "answer": answer}
    if place is not None:
        bought["answer_portion"] = place
    # Its size is bounded already: neither the answer nor a portion of it is cut further.
    untrusted = [f"/result/{name}" for name in ("answer", "reason") if bought[name] is not None]
    return Shaped({"result": bought, "untrusted": untrusted, "truncated": place is not None})


async def send_units(exchange: Exchange, given: inputs.PayIntent) -> Shaped:
    """Pay an intent of a transfer."""
    paid = await _paid(exchange, _Paying(SEND, SEND_ROUTE), given.intent)
    return paid if isinstance(paid, Shaped) else shaped(paid.content, ())


async def _previewed(
    exchange: Exchange, agent: Agent, payment: _Payment, most: str, costs: dict[str, Any]
) -> Shaped:
    """Write an intent. Raises: QuotaReached."""
    runtime = exchange.runtime
    new = commerce.NewIntent(exchange.caller.name, agent.did, payment.tool, payment.order, parse_amount(most))
    intent_id, ends = await runtime.database.transaction(
        lambda tx: commerce.open_intent(tx, runtime.seal, new)
    )
    return shaped({"intent": intent_id, **costs, "expires_at": ends.isoformat()}, ())


async def _paid(exchange: Exchange, paying: _Paying, intent_id: str) -> InnerAnswer | Shaped:
    """The answer of the payment of an intent, or the result in its place.

    Raises: IntentUnknown, IntentExpired, IntentUnreadable, IntentOfOtherCall, and the refusals of the acting agent.
    """
    runtime, principal = exchange.runtime, exchange.caller
    intent = await runtime.database.query(
        lambda tx: commerce.find_intent(
            tx, runtime.seal, intent_id, principal=principal.name, tool=paying.tool
        )
    )
    order = {**intent.arguments}
    if order.pop(DIGEST, None) != paying.digest and paying.digest is not None:
        raise IntentOfOtherCall
    if intent.payment is not None and not intent.is_answered:
        return shaped(_state_of(intent), ())
    agent = await principal.acting(runtime, intent.agent_did)
    call = InnerCall("POST", paying.route, body=order, key=intent_id)
    answer = await exchange.ask(call, agent, partial(_in_commit, intent_id))
    waiting = approval_required(runtime.settings.base_url, answer)
    if waiting is not None:
        await runtime.database.transaction(
            lambda tx: commerce.wait_for_approval(tx, intent_id, waiting["approval_id"])
        )
        return shaped({"intent": intent_id, **waiting}, ())
    if answer.is_refusal:
        _require_price(answer)
        return of_answer(answer)
    return answer


def _require_price(answer: InnerAnswer) -> None:
    """Raises: PriceRose."""
    error = answer.content["error"]
    if error["code"] == PRICE_ABOVE:
        raise PriceRose(context=error["context"])


async def _in_commit(intent_id: str, tx: Tx, payment: str) -> None:
    await commerce.pay_intent(tx, intent_id, payment)


def _state_of(intent: commerce.Intent) -> dict[str, Any]:
    """The state of a payment whose first answer is kept no longer."""
    assert intent.paid_at is not None
    return {
        "intent": intent.id,
        "status": "paid",
        "payment": intent.payment,
        "paid_at": intent.paid_at.isoformat(),
    }
