"""One request to the tools after its caller is known: tools of the address, message, scope, SDK."""

from collections.abc import Mapping

import msgspec
from fastapi import Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import runtime_of

from . import protocol
from .agent_tools import BESIDE, tools_of_agent
from .envelope import BadMessage, Envelope, read_envelope
from .exchange import Exchange, Offered
from .principals import READ, InsufficientScope, Principal, challenge
from .tools import TOOLS, offered_to

GATEWAY_MODE = "gateway"


class Address(msgspec.Struct, frozen=True):
    """An address of tools: the metadata that its challenge names, and the key of the card of an agent.

    `is_agents`: it has the tools of that agent alone, and no challenge.
    """

    metadata: str | None = None
    card_key: str | None = None
    is_agents: bool = False


async def answer(http: Request, principal: Principal | None, body: bytes, address: Address) -> Response:
    """The answer to one message. Raises: CardUnknown, InsufficientScope."""
    runtime = runtime_of(http)
    of_agent: list[Offered] = []
    if address.card_key is not None:
        prefix = "" if address.is_agents else BESIDE
        of_agent += await tools_of_agent(
            runtime, address.card_key, has_principal=principal is not None, prefix=prefix
        )
    is_gateway = not address.is_agents and http.query_params.get("mode") == GATEWAY_MODE
    try:
        envelope = read_envelope(body, is_gateway=is_gateway)
    except BadMessage as error:
        return Response(msgspec.json.encode(error.content), status_code=400, media_type="application/json")
    if address.is_agents:
        tools = {tool.name: tool for tool in sorted(of_agent, key=lambda tool: tool.name)}
    else:
        scopes = frozenset() if principal is None else principal.scopes
        tools = offered_to(scopes, *of_agent)
        if principal is not None:
            known = {**TOOLS, **{tool.name: tool for tool in of_agent}}
            _require_scope(envelope, known, principal, address.metadata)
    exchange = Exchange(http, runtime, principal, tools, is_gateway, envelope.payment)
    return await protocol.serve(exchange, envelope.body)


def _require_scope(
    envelope: Envelope, known: Mapping[str, Offered], principal: Principal, metadata: str | None
) -> None:
    """Raises: InsufficientScope."""
    tool = known.get(envelope.tool or "")
    needed = tool.scope if tool else None
    if needed is None or needed in principal.scopes:
        return
    # The granted ones as well: a client asks for these, and would lose what it had.
    parameters = {"error": "insufficient_scope", "scope": " ".join(sorted({READ, needed, *principal.scopes}))}
    if metadata is not None:
        parameters["resource_metadata"] = metadata
    raise InsufficientScope(context={"tool": envelope.tool, "scope": needed}, headers=challenge(parameters))
