"""Routes of the OAuth protocol: answers and faults in the form of RFC 6749, readable from pages of every origin."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import unquote_plus

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response

from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.values.errors import Refused

from .errors import OAuthFault

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}
FRESH = {"Cache-Control": "no-store", "Pragma": "no-cache"}
PREFLIGHT = {
    **ANY_ORIGIN,
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "86400",
}
UNAUTHORIZED, TOO_MANY, UNAVAILABLE = 401, 429, 503


class OAuthRoute(GuardedRoute):
    """A route whose refusals are faults of OAuth instead of problem documents."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                response = await answer(request)
            except OAuthFault as fault:
                response = fault_answer(fault)
            except RequestValidationError:
                response = fault_answer(
                    OAuthFault("invalid_request", "A parameter is malformed or too long.")
                )
            except Refused as refusal:
                response = fault_answer(_as_fault(refusal))
                response.headers.update(refusal.headers)
            response.headers.update({**ANY_ORIGIN, **FRESH})
            return response

        return answered


def fault_answer(fault: OAuthFault) -> JSONResponse:
    """The answer to a faulty request."""
    headers = {"WWW-Authenticate": 'Basic realm="oauth"'} if fault.status == UNAUTHORIZED else None
    return JSONResponse(fault.body, status_code=fault.status, headers=headers)


def _as_fault(refusal: Refused) -> OAuthFault:
    if refusal.status in {TOO_MANY, UNAVAILABLE}:
        return OAuthFault("temporarily_unavailable", refusal.detail, refusal.status)
    return OAuthFault("invalid_request", refusal.detail)


def add_preflight(router: APIRouter, *paths: str) -> None:
    """Answer the preflight requests of pages of other origins at these paths."""
    for path in paths:
        router.add_api_route(
            path, answer_preflight, methods=["OPTIONS"], include_in_schema=False, status_code=204
        )


async def answer_preflight(_: Public) -> Response:
    """Allow pages of every origin to call the route: it takes no cookie."""
    return Response(status_code=204, headers=PREFLIGHT)


def basic_credentials(request: Request) -> tuple[str, str] | None:
    """Client id and secret of `Authorization: Basic` (RFC 6749, 2.3.1), or None without it. Raises: OAuthFault."""
    values = request.headers.getlist("authorization")
    scheme, _, encoded = values[0].partition(" ") if values else ("", "", "")
    if scheme.lower() != "basic":
        return None
    try:
        text = b64decode(encoded.strip(), validate=True).decode("ascii")
    except (NotBase64, ValueError):
        text = ""
    client_id, colon, secret = text.partition(":")
    if len(values) > 1 or not colon:
        raise OAuthFault(
            "invalid_client", "The Authorization header holds no client credentials.", UNAUTHORIZED
        )
    return unquote_plus(client_id), unquote_plus(secret)
