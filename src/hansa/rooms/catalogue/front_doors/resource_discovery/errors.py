"""Why resource discovery refuses, in the form that its specification gives (section B): `errorCode` and `message`.

They stand in the problem document of every refusal of these routes, beside the members that all refusals here have.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from hansa.foundation.plumbing.bodies import GuardedRoute
from hansa.foundation.words.errors import BadRequest, Invalid, NotFound, Refused

ERROR_CODES = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RATE_LIMIT_EXCEEDED", 503: "UNAVAILABLE"}
MALFORMED = "INVALID_ARGUMENT"


class ArgumentInvalid(BadRequest):
    """The query, the filter, the page token or the identifier is not of the form of Agentic Resource Discovery."""

    code = MALFORMED
    sentence = "The request is not of the form that Agentic Resource Discovery describes."


class EntryUnknown(NotFound):
    """No entry of this registry has that identifier."""

    code = "ENTRY_UNKNOWN"
    sentence = "No entry of this registry has that identifier."


class ResourceDiscoveryRoute(GuardedRoute):
    """A route whose refusals carry the members of the specification, and where malformed requests get 400, not 422."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await answer(request)
            except RequestValidationError as trouble:
                raise _told(_malformed(trouble)) from None
            except Invalid as trouble:
                raise _told(ArgumentInvalid(trouble.detail, field=trouble.field)) from None
            except Refused as trouble:
                raise _told(trouble) from None

        return answered


def _malformed(trouble: RequestValidationError) -> ArgumentInvalid:
    first = trouble.errors()[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    message = f"{field}: {str(first['msg']).removeprefix('Value error, ')}"
    # Some messages and names quote what was sent, line breaks and all.
    return ArgumentInvalid(_printable(message), field=_printable(field))


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:500]


def _told(trouble: Refused) -> Refused:
    trouble.members |= {
        "errorCode": ERROR_CODES.get(trouble.status, MALFORMED),
        "message": trouble.detail,
    }
    return trouble
