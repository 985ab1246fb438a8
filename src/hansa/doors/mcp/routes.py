"""Addresses of the tools: with a challenge, for clients that bring a bearer, for anyone, and for one agent.

Origin, credential, message and scope are judged here, in this order, before the SDK sees the request.
"""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.bodies import BODY_MAX_BYTES, held_body, read_within
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.limits import Limit, admit, client_address
from hansa.foundation.values.errors import Forbidden, NotFound, Refused, Unauthorized

from .loading import PROTOCOL
from .principals import READ, Principal, challenge, principal_of

METADATA = "/.well-known/oauth-protected-resource/mcp"
ANYONES_REQUESTS = {"public": Limit("mcp-public", 60), "agent": Limit("mcp-agents", 60)}
"""Requests of an address without a credential, at each door that takes them."""
PREFLIGHT_SECONDS = 600
CORS = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name",
    "Access-Control-Expose-Headers": "WWW-Authenticate, Retry-After",
    "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
}

CardKey = Annotated[str, Path(description="UUID, DID or number of a card.")]
Door = Literal["challenging", "bearer", "public", "agent"]

router = APIRouter(tags=["mcp"], route_class=DirectRoute, include_in_schema=False)


class OriginRefused(Forbidden):
    """The request comes from a page of another origin."""

    code = "ORIGIN_REFUSED"
    sentence = "Pages of this origin may not call the tools of this registry."
    remedy = "Ask the operator to name the origin in MCP_ALLOWED_ORIGINS."


@router.post("/mcp")
async def call_tools(http: Request, _: Public) -> Response:
    """Tools of a caller; without a credential the client is led to the authorization."""
    return await _answered(http, "challenging")


@router.post("/mcp/rpc")
async def call_tools_with_bearer(http: Request, _: Public) -> Response:
    """Tools of a caller that brings its credential."""
    return await _answered(http, "bearer")


@router.post("/mcp/public")
async def call_public_tools(http: Request, _: Public) -> Response:
    """Public tools of anyone."""
    return await _answered(http, "public")


@router.post("/mcp/agents/{card_id}")
async def call_agent(http: Request, _: Public, card_id: CardKey) -> Response:
    """Tools of one agent, for a caller that brings its credential or for anyone; never with a challenge."""
    return await _answered(http, "agent", card_id)


@router.options("/mcp")
@router.options("/mcp/rpc")
@router.options("/mcp/public")
@router.options("/mcp/agents/{card_id}")
async def answer_preflight(http: Request, _: Public) -> Response:
    """Preflight of a page of an allowed origin."""
    origin = _allowed_origin(http, _enabled(http))
    return Response(status_code=204, headers=_cors(origin))


async def _answered(http: Request, door: Door, card_id: str | None = None) -> Response:
    """Raises: NotFound, OriginRefused, Unauthorized, TooManyRequests, StillLoading, PayloadTooLarge, CardUnknown, InsufficientScope."""
    settings = _enabled(http)
    origin = _allowed_origin(http, settings)
    try:
        response = await _served(http, door, settings, card_id)
    except Refused as error:
        # A page reads the challenge as well.
        error.headers.update(_cors(origin))
        raise
    response.headers.update(_cors(origin))
    return response


async def _served(http: Request, door: Door, settings: Settings, card_id: str | None) -> Response:
    runtime = runtime_of(http)
    principal = None if door == "public" else await _principal(http, door, settings)
    if principal is None:
        await admit(runtime.database, ANYONES_REQUESTS[door], client_address(http))
    serving = PROTOCOL.of(runtime).loaded()
    body = held_body(http)
    received = await read_within(http, BODY_MAX_BYTES) if body is None else body
    key = card_id if door in {"agent", "public"} else http.query_params.get("agent")
    metadata = settings.base_url + METADATA if door == "challenging" else None
    address = serving.Address(metadata, key, is_agents=door == "agent")
    return await serving.answer(http, principal, received, address)  # type: ignore[no-any-return]


async def _principal(http: Request, door: Door, settings: Settings) -> Principal | None:
    """The caller; None where an address takes anyone. Raises: Unauthorized, with the challenge of this address."""
    try:
        return await principal_of(http, runtime_of(http))
    except Unauthorized as error:
        if door in ANYONES_REQUESTS:
            # A credential that is none is answered like no credential.
            return None
        parameters = {"scope": READ}
        if door == "challenging":
            parameters = {"resource_metadata": settings.base_url + METADATA, **parameters}
        if "authorization" in http.headers:
            parameters = {"error": "invalid_token", **parameters}
        raise Unauthorized(error.detail, headers=challenge(parameters)) from None


def _enabled(http: Request) -> Settings:
    """The settings of a registry whose tools are enabled. Raises: NotFound."""
    settings = runtime_of(http).settings
    if not settings.mcp_enabled:
        raise NotFound
    return settings


def _allowed_origin(http: Request, settings: Settings) -> str | None:
    """The foreign origin of the request, which is allowed; None where it has none or its own. Raises: OriginRefused."""
    origins = http.headers.getlist("origin")
    own = urlsplit(settings.base_url)
    if not origins or origins == [f"{own.scheme}://{own.netloc}"]:
        return None
    if len(origins) == 1 and origins[0] in settings.mcp_allowed_origins:
        return origins[0]
    raise OriginRefused


def _cors(origin: str | None) -> dict[str, Any]:
    if origin is None:
        return {"Vary": "Origin"}
    return {**CORS, "Access-Control-Allow-Origin": origin, "Vary": "Origin"}
