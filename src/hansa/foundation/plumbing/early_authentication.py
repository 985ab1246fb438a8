"""Judging who asks before the body is read, and only once for a request.

The framework reads and parses the body first. So that a request without a credential costs no parsing, what is marked
with `judged_once` is called before, and remembered for when the framework calls it.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from fastapi.dependencies.models import Dependant

from hansa.foundation.plumbing.parameter_binding import Resolver, directly

JUDGED = "hansa.judged"

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def judged_once(judge: Callable[_Given, Awaitable[_Found]]) -> Callable[_Given, Awaitable[_Found]]:
    """A dependency with a parameter `request`, called once for each request and before its body is read."""

    @wraps(judge)
    async def judged(*args: _Given.args, **given: _Given.kwargs) -> _Found:
        request: Any = given["request"] if "request" in given else args[0]
        found: dict[Any, _Found] = request.scope.setdefault(JUDGED, {})
        if judge not in found:
            found[judge] = await judge(*args, **given)
        return found[judge]

    judged.judges = True  # type: ignore[attr-defined]
    return judged


def judges_of(dependant: Dependant) -> list[Resolver]:
    """How to judge who asks a route, in the order of its dependencies."""
    return [
        directly(dependency.call, remembering=True)
        for dependency in dependant.dependencies
        if dependency.call is not None and any(_marks(dependency))
    ]


def _marks(dependant: Dependant) -> Iterator[bool]:
    yield hasattr(dependant.call, "judges")
    for dependency in dependant.dependencies:
        yield from _marks(dependency)
