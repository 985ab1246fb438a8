"""Callers that observe the registry: its metrics, and the names of its failing jobs.

- The token of METRICS_TOKEN or METRICS_TOKEN_FILE admits its holder, from any address. Without a token the machine of the
  registry itself is admitted: a connection from its own address, without a header of a proxy.
- The internal key admits in both cases.
"""

from hmac import compare_digest
from ipaddress import IPv6Address, ip_address
from typing import Annotated, Any

from fastapi import Depends, Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.problem_docs import refuses_with
from hansa.foundation.values.errors import Unauthorized

from .credentials import INTERNAL_KEY_HEADER, METRICS_SCHEME, bearer_token

HEADERS_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


@refuses_with(Unauthorized)
@evaluated_once
async def observer(request: Request, _: Annotated[Any, Depends(METRICS_SCHEME)]) -> None:
    """A holder of the token or of the internal key, or the machine itself. Raises: Unauthorized."""
    if may_observe(request):
        return
    if runtime_of(request).settings.observer_token is None:
        raise Unauthorized(
            "Metrics are read from the machine of the registry alone;"
            " set METRICS_TOKEN or METRICS_TOKEN_FILE to read them from another one."
        )
    raise Unauthorized(
        "Metrics need the header Authorization: Bearer with the token of METRICS_TOKEN or METRICS_TOKEN_FILE."
    )


async def anyone_or_observer(request: Request, _: Annotated[Any, Depends(METRICS_SCHEME)]) -> bool:
    """The route is public; True where the caller may observe."""
    return may_observe(request)


def may_observe(request: Request) -> bool:
    """Return whether the caller of this request may read metrics and the names of failing jobs."""
    runtime = runtime_of(request)
    keys = request.headers.getlist(INTERNAL_KEY_HEADER)
    if len(keys) == 1 and compare_digest(keys[0].encode("latin-1"), runtime.internal_key.encode()):
        return True
    if (token := runtime.settings.observer_token) is None:
        return _is_this_machine(request)
    try:
        return compare_digest(bearer_token(request).encode("latin-1"), token.encode())
    except Unauthorized:
        return False


def _is_this_machine(request: Request) -> bool:
    if request.client is None or any(name in request.headers for name in HEADERS_OF_PROXIES):
        return False
    own, _ = request.scope.get("server") or ("", 0)
    if request.client.host == own:
        return True
    try:
        address = ip_address(request.client.host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


Observer = Annotated[None, Depends(observer)]
MaybeObserver = Annotated[bool, Depends(anyone_or_observer)]
"""With it goes `openapi_extra=CREDENTIAL_OPTIONAL` on the route."""
