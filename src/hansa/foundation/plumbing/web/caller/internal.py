"""Callers that are neither a person nor an agent: a service of the operator, an admitted registry, or anyone."""

from hmac import compare_digest
from typing import Annotated, Any

from fastapi import Depends, Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.client_certificate import presented_certificate
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.problem_docs import refuses_with
from hansa.foundation.values.errors import Unauthorized

from .checks import LICENCE_CHECK, SERVICE_CHECK
from .credentials import INTERNAL_KEY_HEADER, INTERNAL_SCHEME, LICENCE_HEADER, LICENCE_SCHEME
from .errors import LicenceSuspended


async def anyone() -> None:
    """The route is public."""


@refuses_with(Unauthorized, LicenceSuspended)
@evaluated_once
async def internal_caller(
    request: Request,
    _: Annotated[Any, Depends(INTERNAL_SCHEME)],
    __: Annotated[Any, Depends(LICENCE_SCHEME)],
) -> None:
    """A service or an admitted registry; no token of a person or an agent passes.

    Whoever shows several credentials is judged by the key before the licence, and by the licence before the certificate.

    Raises: Unauthorized, LicenceSuspended.
    """
    runtime = runtime_of(request)
    if keys := request.headers.getlist(INTERNAL_KEY_HEADER):
        if len(keys) != 1 or not compare_digest(keys[0].encode("latin-1"), runtime.internal_key.encode()):
            raise Unauthorized(f"This {INTERNAL_KEY_HEADER} is wrong.")
    elif licences := request.headers.getlist(LICENCE_HEADER):
        if len(licences) != 1:
            raise Unauthorized(f"Exactly one {LICENCE_HEADER} header is accepted.")
        await LICENCE_CHECK.of(runtime)(runtime, licences[0])
    elif certificate := presented_certificate(request):
        await SERVICE_CHECK.of(runtime)(runtime, certificate)
    else:
        raise Unauthorized(
            f"A valid {INTERNAL_KEY_HEADER}, {LICENCE_HEADER} or client certificate of a service is required."
        )


Public = Annotated[None, Depends(anyone)]
InternalCaller = Annotated[None, Depends(internal_caller)]
