"""The one place that calls a service: for a purchase, or with the payment that the caller of a tool presents.

- A call has the headers that are made for it: no header of a caller's request leaves the registry.
- No transaction is open during a call, and one process has a limited number of calls to one host under way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hansa.foundation.plumbing.outgoing import Answer, CallLimits, NamedBy, Outgoing
from hansa.rooms import catalogue

from .service_call import (
    Interface,
    Outcome,
    ServiceAnswer,
    ServiceRequest,
    body_for,
    headers_for,
    read_tool_answer,
)

ANSWER_MAX_BYTES = 1024 * 1024
# So many purchases, and so many calls of tools, of one process go to one host at a time: neither takes the turns of the other.
PURCHASES_AT_ONCE, TOOLS_AT_ONCE = 32, 16


@dataclass(frozen=True)
class ServiceCall:
    """A call of a service, with the headers of its payment; without them it is not paid. Those with one `at_once` share turns."""

    interface: Interface
    request: ServiceRequest
    id: str
    seconds: float
    payment: Mapping[str, str] = field(default_factory=dict, repr=False)
    at_once: int = PURCHASES_AT_ONCE


async def call_service(outgoing: Outgoing, call: ServiceCall) -> Answer:
    """The answer of a service. Raises: OutgoingTrouble."""
    return await outgoing.post(
        call.interface.url,
        body_for(call.interface, call.request, call.id),
        named_by=NamedBy.USER,
        headers=headers_for(call.interface, call.payment),
        limits=CallLimits(call.seconds, ANSWER_MAX_BYTES, at_once=call.at_once),
    )


async def call_tool(outgoing: Outgoing, call: ServiceCall) -> ServiceAnswer:
    """Call a tool of an MCP server; the payment is sent with that request alone. Raises: OutgoingTrouble."""
    server = catalogue.McpCalls(
        outgoing,
        call.interface.url,
        seconds=call.seconds,
        body_bytes=ANSWER_MAX_BYTES,
        at_once=call.at_once,
    )
    try:
        answer = await server.begin()
        if server.spoken is None:
            return ServiceAnswer(Outcome.FAILED, trouble=f"status_{answer.status}")
        reply = await server.ask(catalogue.CALL_TOOL, call.request.params, call.id, call.payment)
    finally:
        await server.end()
    return read_tool_answer(reply)
