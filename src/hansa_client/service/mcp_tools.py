"""Paid tools of an MCP server, by the MCP binding of x402.

The challenge is an error result with the requirements as `structuredContent` and as text, the payment comes in
`_meta["x402/payment"]`, the receipt goes in `_meta["x402/payment-response"]`. A service that signs its answers adds a delivery
receipt in `_meta["hansa/payment-receipt"]`. A payment token in the header
X-Payment-Token of the HTTP request is taken too.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import wraps
from typing import Any

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from mcp.types import CallToolResult, TextContent

from hansa_client.errors import HansaError
from hansa_client.receipts import bytes_of_tool_call, bytes_of_tool_result, digest_of

from . import refusals
from .admission import Stored, Working
from .challenge import Challenge, presented_by_x402, presented_in, x402_receipt
from .paid_calls import PaidCalls
from .refusals import Outcome, Refused
from .terms import Order, Presented, fingerprint_of

PAYMENT_META = "x402/payment"
RECEIPT_META = "x402/payment-response"
OUTCOME_META = "hansa/payment-outcome"
DELIVERY_META = "hansa/payment-receipt"
PROBLEM_META = "hansa/problem"
CONTEXT = "hansa_payment_context"

Tool = Callable[..., Any]


@dataclass(frozen=True)
class _ToolCall:
    name: str
    arguments: Mapping[str, Any]

    @property
    def resource(self) -> str:
        return f"mcp://tool/{self.name}"

    def as_bytes(self) -> bytes:
        return bytes_of_tool_call(self.arguments)

    def order(self) -> Order:
        return Order(
            fingerprint_of(b"mcp", self.name.encode(), self.as_bytes()),
            digest_of(self.as_bytes()),
            frozenset({self.resource, self.name}),
        )


def paid_tool(service: PaidCalls, price: Decimal | None) -> Callable[[Tool], Tool]:
    """The decorator for one price; None is the price of the service."""

    def decorated(tool: Tool) -> Tool:
        own_context = find_context_parameter(tool)
        converted = func_metadata(tool, skip_names=[own_context] if own_context else [])

        @wraps(tool)
        async def paid(**arguments: Any) -> CallToolResult:
            context: Context[Any, Any] = arguments[own_context or CONTEXT]
            given = {name: value for name, value in arguments.items() if name not in {own_context, CONTEXT}}

            async def work() -> CallToolResult:
                passed = {**given, own_context: context} if own_context else given
                value = tool(**passed)
                value = await value if inspect.isawaitable(value) else value
                result = converted.convert_result(value)
                assert isinstance(result, CallToolResult), "a paid tool answers in one call"
                return result

            return await _call(service, price, _ToolCall(tool.__name__, given), _presented(context), work)

        _declare_context(paid, tool, own_context)
        return paid

    return decorated


async def _call(
    service: PaidCalls,
    price: Decimal | None,
    call: "_ToolCall",
    presented: Presented | None,
    work: Callable[[], Any],
) -> CallToolResult:
    try:
        terms = await service.terms(price)
        challenge = await service.challenge(terms, call.resource)
    except HansaError:
        return _refused(refusals.issuer_unavailable(), None)
    decision = await service.admit(presented, terms, call.order())
    if isinstance(decision, Working):
        decision = await _worked(service, decision, call, work)
    if isinstance(decision, Refused):
        return _refused(decision, challenge)
    return _answered(decision, challenge)


async def _worked(
    service: PaidCalls, working: Working, call: "_ToolCall", work: Callable[[], Any]
) -> Stored | Refused:
    try:
        result = await work()
    except Exception as error:  # noqa: BLE001
        result = CallToolResult(
            content=[TextContent(type="text", text=f"The tool failed: {error}")], is_error=True
        )
    except BaseException:
        await working.abandon()
        raise
    packed = _packed(result)
    if len(packed) > service.answer_max_bytes:
        too_large = refusals.answer_too_large(service.answer_max_bytes)
        result = CallToolResult(content=[TextContent(type="text", text=too_large.detail)], is_error=True)
        packed = _packed(result)
    if result.is_error:
        return await working.finish(packed, Outcome.FAILED)
    answer = bytes_of_tool_result(json.loads(packed))
    receipt = service.receipt_of(working.facts.token_id, call.as_bytes(), answer)
    if receipt is not None:
        packed = _packed(result.model_copy(update={"meta": {**(result.meta or {}), DELIVERY_META: receipt}}))
    return await working.finish(packed, Outcome.DELIVERED, receipt)


def _packed(result: CallToolResult) -> bytes:
    return result.model_dump_json(by_alias=True, exclude_none=True).encode()


def _presented(context: "Context[Any, Any]") -> Presented | None:
    request = context.request_context
    params = request.params if isinstance(request.params, Mapping) else {}
    meta = request.meta or params.get("_meta") or {}
    payment = meta.get(PAYMENT_META) if isinstance(meta, Mapping) else None
    if isinstance(payment, str):
        try:
            payment = json.loads(payment)
        except (ValueError, RecursionError):
            payment = {}
    if payment is not None:
        return presented_by_x402(payment)
    headers = getattr(request.request, "headers", None)
    return presented_in({name.lower(): value for name, value in headers.items()}) if headers else None


def _answered(stored: Stored, challenge: Challenge) -> CallToolResult:
    result = CallToolResult.model_validate_json(stored.content)
    meta: dict[str, Any] = {**(result.meta or {}), OUTCOME_META: stored.outcome.value}
    if challenge.x402:
        meta[RECEIPT_META] = x402_receipt(
            stored.outcome, stored.facts, stored.settlement_tx_id, challenge.x402
        )
    return result.model_copy(update={"meta": meta})


def _refused(refused: Refused, challenge: Challenge | None) -> CallToolResult:
    problem: dict[str, Any] = {"status": refused.status, "code": refused.code, "detail": refused.detail}
    if refused.outcome:
        problem["outcome"] = refused.outcome.value
    if refused.retry_after_seconds is not None:
        problem["retry_after_seconds"] = refused.retry_after_seconds
    shown = problem
    if refused.is_challenge and challenge:
        problem["payment"] = challenge.payment()
        shown = challenge.x402_required(refused.detail)
    return CallToolResult(
        content=[TextContent(type="text", text=json.dumps(shown))],
        structured_content=shown,
        is_error=True,
        _meta={PROBLEM_META: problem},
    )


def _declare_context(paid: Any, tool: Tool, own_context: str | None) -> None:
    """The parameters of the tool and the context, which the server injects; the result is built here."""
    signature = inspect.signature(tool)
    parameters = list(signature.parameters.values())
    annotations = dict(tool.__annotations__)
    if own_context is None:
        parameters.append(inspect.Parameter(CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=Context))
        annotations[CONTEXT] = Context
    annotations["return"] = CallToolResult
    paid.__signature__ = signature.replace(parameters=parameters, return_annotation=CallToolResult)
    paid.__annotations__ = annotations
