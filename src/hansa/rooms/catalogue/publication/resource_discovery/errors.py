"""Why resource discovery refuses, in the form that its specification gives (section B): `errorCode` and `message`.

They stand in the problem document of every refusal of these routes, beside the members that all refusals here have.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Literal

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import Field

from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.invalid_member import InvalidMember
from hansa.foundation.plumbing.web.problem_docs import PROBLEM_SHAPE, Problem
from hansa.foundation.values.errors import BadRequest, Invalid, NotFound, Refused

ERROR_CODES = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RATE_LIMIT_EXCEEDED", 503: "UNAVAILABLE"}
MALFORMED = "INVALID_ARGUMENT"


class ArgumentInvalid(BadRequest):
    """The query, filter, page token or identifier does not follow the format of Agentic Resource Discovery."""

    code = MALFORMED
    sentence = "The request does not follow the format of Agentic Resource Discovery."


class EntryUnknown(NotFound):
    """No entry of this registry has this identifier."""

    code = "ENTRY_UNKNOWN"
    sentence = "No entry of this registry has this identifier."


class ResourceDiscoveryProblem(Problem):
    """An error with the members of Agentic Resource Discovery; errors outside the route do not have them."""

    error_code: Literal[*ERROR_CODES.values(), MALFORMED] | None = Field(default=None, alias="errorCode")  # type: ignore[valid-type]
    message: str | None = Field(default=None, description="The same as `detail`.")


class ResourceDiscoveryRoute(GuardedRoute):
    """A route whose refusals carry the members of the specification, and where malformed requests get 400, not 422."""

    def __init__(self, *declared: Any, **options: Any) -> None:
        extra = {
            **(options.pop("openapi_extra", None) or {}),
            PROBLEM_SHAPE: ResourceDiscoveryProblem.__name__,
        }
        super().__init__(*declared, **options, openapi_extra=extra)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await answer(request)
            except RequestValidationError as error:
                invalid = InvalidMember.of(error)
                raise _with_members(ArgumentInvalid(invalid.message, field=invalid.field)) from None
            except Invalid as error:
                raise _with_members(ArgumentInvalid(error.detail, field=error.field)) from None
            except Refused as error:
                raise _with_members(error) from None

        return answered


def _with_members(error: Refused) -> Refused:
    error.members |= {
        "errorCode": ERROR_CODES.get(error.status, MALFORMED),
        "message": error.detail,
    }
    return error
