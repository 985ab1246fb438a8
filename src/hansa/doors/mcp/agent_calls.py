"""Calls of agents by tools: free ones, ones paid under an intent, and ones whose payment of x402 is passed on.

- An intent is opened by a call without one, and holds a digest of the call: other arguments under it are refused.
- The answer of an agent is a text of a stranger. A free one is cut; a paid one is read on with `buy_call`, or shown whole
  where nothing of it is kept here.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from uuid import uuid4

import msgspec

from hansa.foundation.plumbing import parameters
from hansa.rooms import agents, catalogue, commerce

from . import inputs, spending
from .answers import Shaped, portion, shaped
from .exchange import Exchange

CALL_SECONDS = 30.0
ACTIVE = "active"
RECEIPT_META = "x402/payment-response"
UNPAID, REFUSED = "This call has a price.", "The agent did not accept this payment."
PAYMENT_REQUIRED_STATUS, NOT_DELIVERED_STATUS = 402, 502


class SkillCall(msgspec.Struct, frozen=True):
    """Call of a skill of an agent; `takes_message`: its arguments are a message and data, else they are data alone.

    `is_mcp_tool`: the skill is a tool of the MCP server of the agent, which gets the data as its arguments.
    """

    card: catalogue.Card
    skill_id: str
    tool: str
    arguments: dict[str, Any]
    takes_message: bool
    is_paid: bool
    is_mcp_tool: bool

    @property
    def payee(self) -> str:
        """The agent."""
        assert self.card.did is not None, "a card with tools is that of an agent"
        return self.card.did

    @property
    def digest(self) -> str:
        """Digest of the agent, the skill and the arguments."""
        called = [self.payee, self.skill_id, self.arguments]
        return sha256(msgspec.json.encode(called, order="sorted")).hexdigest()

    @property
    def data(self) -> Any:
        """The structured arguments; None for a message without any."""
        return self.arguments.get("data") if self.takes_message else self.arguments

    @property
    def tool_call(self) -> commerce.ServiceRequest | None:
        """The request to the MCP server of the agent; None for a skill that is no tool of one."""
        if not self.is_mcp_tool:
            return None
        return commerce.ServiceRequest(
            catalogue.CALL_TOOL, {"name": self.skill_id, "arguments": self.data or {}}
        )

    def message(self, interface: commerce.Interface) -> dict[str, Any]:
        """The message that is sent; it names the skill in its metadata."""
        text = self.arguments["message"] if self.takes_message else None
        named = {"skillId": self.skill_id}
        return commerce.message_for(interface, uuid4().hex, text, self.data, metadata=named)

    def sent(self, interface: commerce.Interface) -> dict[str, Any]:
        """The request or the message of an order, under the name that it has there."""
        call = self.tool_call
        if interface.is_mcp and call is not None:
            return {"request": {"method": call.method, "params": call.params}}
        return {"message": self.message(interface)}


async def previewed(exchange: Exchange, call: SkillCall, acting: Any) -> Shaped:
    """The price of a paid call, and the intent that pays it. Raises: the refusals of the acting agent and of the price."""
    named = inputs.AsAgent.model_validate({"as": acting})
    interface = await _interface_of(exchange, call)
    agent = await exchange.caller.acting(exchange.runtime, named.as_)
    order = {"target_agent_did": call.payee, **call.sent(interface)}
    preview = await spending.price_call(exchange, agent, order, call.digest)
    if preview.is_error:
        return preview
    return shaped({"status": "payment_required", **preview.structured["result"]}, ())


async def bought(exchange: Exchange, call: SkillCall, intent: Any) -> Shaped:
    """Pay an intent of this call, and show the answer. Raises: the refusals of `spending.buy_call`."""
    return await spending.buy_call(exchange, inputs.BuyCall.model_validate({"intent": intent}), call.digest)


async def passed_on(exchange: Exchange, call: SkillCall) -> Shaped:
    """Call the agent, with the payment of x402 that a caller without a principal presents.

    Raises: PayeeNotAdmitted, ServiceNotCallable.
    """
    interface = await _interface_of(exchange, call)
    runtime = exchange.runtime
    headers: Mapping[str, str] = {}
    token = None
    if exchange.principal is None:
        if exchange.payment is None and call.is_paid:
            return await _payment_required(exchange, call, UNPAID)
        if exchange.payment is not None:
            networks = commerce.Networks.of(runtime.settings)
            try:
                payment = await commerce.presented(runtime.database, exchange.payment, call.payee, networks)
            except commerce.PaymentInvalid as invalid:
                return await _payment_required(exchange, call, invalid.message)
            headers, token = payment.headers, payment.token
    request = (interface.is_mcp and call.tool_call) or commerce.ServiceRequest(
        message=call.message(interface)
    )
    service_call = commerce.ServiceCall(
        interface, request, uuid4().hex, CALL_SECONDS, headers, commerce.TOOLS_AT_ONCE
    )
    passed = await commerce.pass_on(runtime, service_call, token)
    if passed.is_refused and exchange.principal is None and (call.is_paid or passed.required):
        return await _payment_required(exchange, call, REFUSED, passed)
    return _answer_of(passed, is_whole=bool(headers))


async def _interface_of(exchange: Exchange, call: SkillCall) -> commerce.Interface:
    """The address of the agent, which may act. Raises: PayeeNotAdmitted, ServiceNotCallable."""
    runtime, payee = exchange.runtime, call.payee
    statuses = await runtime.database.query(lambda tx: agents.statuses_of(tx, [payee]))
    if (status := statuses.get(payee)) != ACTIVE:
        raise commerce.PayeeNotAdmitted(f"The agent is {status}.", context={"status": status})
    allowed = runtime.settings.outgoing_allow_user_hosts
    return commerce.interface_of(call.card.card_data or {}, allowed, call.tool_call)


async def _payment_required(
    exchange: Exchange, call: SkillCall, error: str, passed: commerce.PassedOn | None = None
) -> Shaped:
    """The terms of the agent where it states them, else those of its card, as x402 has them in a result."""
    required = passed.required if passed else None
    if required is None:
        runtime = exchange.runtime
        settings = await runtime.database.query(lambda tx: parameters.in_force(tx, runtime.settings))
        networks = commerce.Networks.of(settings)
        resource = {"url": f"mcp://tool/{call.tool}", "description": f"Call of {call.payee}."}
        required = commerce.payment_required(call.card, resource, networks, error)
    meta = {RECEIPT_META: passed.receipt} if passed and passed.receipt else None
    return Shaped(required, is_error=True, status=PAYMENT_REQUIRED_STATUS, is_bare=True, meta=meta)


def _answer_of(passed: commerce.PassedOn, *, is_whole: bool) -> Shaped:
    answer = passed.answer
    shown, place = (answer.body, None) if is_whole else portion(answer.body, 0)
    result = {"status": answer.outcome.value, "answer": shown, "reason": answer.trouble}
    is_delivered = answer.outcome is commerce.Outcome.DELIVERED
    return Shaped(
        {
            "result": result,
            "untrusted": [] if shown is None else ["/result/answer"],
            "truncated": place is not None,
        },
        is_error=not is_delivered,
        status=200 if is_delivered else NOT_DELIVERED_STATUS,
        meta={RECEIPT_META: passed.receipt} if passed.receipt else None,
    )
