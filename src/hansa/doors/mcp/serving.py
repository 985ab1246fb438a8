"""One request to the tools after its caller is known: message, scope, SDK."""

import msgspec
from fastapi import Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.values.errors import Forbidden

from . import protocol
from .envelope import BadMessage, Envelope, read_envelope
from .exchange import Exchange
from .principals import READ, Principal, challenge

GATEWAY_MODE = "gateway"


class InsufficientScope(Forbidden):
    """The credential does not have the scope of this tool."""

    code = "INSUFFICIENT_SCOPE"
    sentence = "The credential does not have the scope of this tool."
    remedy = "Connect again, and grant the scopes that the WWW-Authenticate header names."


async def answer(http: Request, principal: Principal | None, body: bytes, metadata: str | None) -> Response:
    """The answer to one message; `metadata` is the address that a challenge names. Raises: InsufficientScope."""
    is_gateway = http.query_params.get("mode") == GATEWAY_MODE
    try:
        envelope = read_envelope(body, is_gateway=is_gateway)
    except BadMessage as error:
        return Response(msgspec.json.encode(error.content), status_code=400, media_type="application/json")
    if principal is not None:
        _require_scope(envelope, principal, metadata)
    return await protocol.serve(Exchange(http, runtime_of(http), principal, is_gateway), envelope.body)


def _require_scope(envelope: Envelope, principal: Principal, metadata: str | None) -> None:
    """Raises: InsufficientScope."""
    needed = envelope.scope
    if needed is None or needed in principal.scopes:
        return
    # The granted ones as well: a client asks for these, and would lose what it had.
    parameters = {"error": "insufficient_scope", "scope": " ".join(sorted({READ, needed, *principal.scopes}))}
    if metadata is not None:
        parameters["resource_metadata"] = metadata
    raise InsufficientScope(context={"tool": envelope.tool, "scope": needed}, headers=challenge(parameters))
