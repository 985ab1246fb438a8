"""Problem documents in OpenAPI: the shape of every refusal, and which refusals a route declares.

Refusals that a dependency raises: the description of each route that has the dependency lists them.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from fastapi.dependencies.models import Dependant
from pydantic import Field

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel

# An operation whose problem documents have a shape of their own names it under this key (`openapi_extra`).
PROBLEM_SHAPE = "x-problem-shape"
# `error.type` of each status.
STATUS_TAGS = {
    400: "bad_request",
    401: "unauthorized",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    412: "precondition_failed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "validation_error",
    429: "rate_limit_exceeded",
    431: "request_header_fields_too_large",
    500: "internal_server_error",
    503: "service_unavailable",
}

_Dependency = TypeVar("_Dependency", bound=Callable[..., Any])


class ProblemError(LazyModel):
    """The legacy envelope."""

    detail: str
    type: str = Field(description="The tag of the status; branch on it first.")
    code: str | None = None
    field: str | None = None
    context: dict[str, Any] | None = None


class Problem(LazyModel):
    """An error: the members of RFC 7807 and the legacy envelope."""

    type: str = Field(description="A URI with a description of this problem.")
    title: str
    status: int
    detail: str
    instance: str
    error: ProblemError


def problems(*refusals: type[Refused]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that refuses with these classes."""
    by_status: defaultdict[int, list[type[Refused]]] = defaultdict(list)
    for refusal in refusals:
        by_status[refusal.status].append(refusal)
    return {
        status: problem_response(" ".join(_described(refusal) for refusal in kinds))
        for status, kinds in by_status.items()
    }


def add_problems(responses: dict[str, Any], refusals: Iterable[type[Refused]]) -> None:
    """Add these refusals to the declared `responses` of an operation, but those that it names already."""
    for refusal in refusals:
        response = responses.get(str(refusal.status))
        if response is None:
            responses[str(refusal.status)] = problem_response(_described(refusal))
        elif f"`{refusal.code}`" not in response["description"]:
            response["description"] += f" {_described(refusal)}"


def problem_response(description: str) -> dict[str, Any]:
    """One declared response with the problem shape."""
    return {
        "description": description,
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def referring_to(response: dict[str, Any], shape: str) -> None:
    """Let a declared refusal have this shape, the name of a subclass of Problem."""
    problem = response.get("content", {}).get("application/problem+json")
    if problem is not None:
        problem["schema"] = {"$ref": f"#/components/schemas/{shape}"}


def every_refusal() -> dict[str, list[type[Refused]]]:
    """The published list of error codes, sorted; of each the classes that carry it, the most general first."""
    found: defaultdict[str, list[type[Refused]]] = defaultdict(list)
    waiting = deque(Refused.__subclasses__())
    while waiting:
        kind = waiting.popleft()
        found[kind.code].append(kind)
        waiting.extend(kind.__subclasses__())
    return dict(sorted(found.items()))


def routes_with(document: Mapping[str, Any], code: str) -> list[str]:
    """The operations of an OpenAPI document that declare this code, such as `POST /api/v1/agents`."""
    return sorted(
        f"{method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if isinstance(operation, dict)
        and any(
            f"`{code}`" in answer.get("description", "") for answer in operation.get("responses", {}).values()
        )
    )


def _described(refusal: type[Refused]) -> str:
    return f"`{refusal.code}`: {_first_line(refusal)}"


def _first_line(refusal: type[Refused]) -> str:
    return (refusal.__doc__ or refusal.sentence).strip().splitlines()[0]


def refuses_with(
    *refusals: type[Refused], asking: Slot[Any] | None = None
) -> Callable[[_Dependency], _Dependency]:
    """Mark a function with the refusals that it raises; `asking` is the slot of a function that it calls, marked as well."""

    def marked(dependency: _Dependency) -> _Dependency:
        dependency.refusals = refusals  # type: ignore[attr-defined]
        dependency.asking = asking  # type: ignore[attr-defined]
        return dependency

    return marked


def refusals_of(dependant: Dependant, runtime: Runtime) -> list[type[Refused]]:
    """Return the refusals that the dependencies of a route raise, each class once, in the order in which they are judged."""
    found = (refusal for called in _called_by(dependant) for refusal in raised_by(called, runtime))
    return [*dict.fromkeys(found)]


def raised_by(called: Any, runtime: Runtime) -> Iterator[type[Refused]]:
    """Yield the refusals that one function is marked with, and those of the function in its slot."""
    yield from getattr(called, "refusals", ())
    asking: Slot[Any] | None = getattr(called, "asking", None)
    if asking is not None:
        yield from raised_by(asking.of(runtime), runtime)


def _called_by(dependant: Dependant) -> Iterator[Any]:
    for dependency in dependant.dependencies:
        yield from _called_by(dependency)
        yield dependency.call
