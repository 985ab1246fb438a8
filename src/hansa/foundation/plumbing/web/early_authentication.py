"""Judging the caller before the body is read, and only once for a request.

The framework reads and parses the body first. So that a request without a credential costs no parsing, a dependency marked
with `evaluated_once` is called before, and remembered for when the framework calls it.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from fastapi.dependencies.models import Dependant

from hansa.foundation.plumbing.process.parameter_binding import Resolver, directly

EVALUATED = "hansa.judged"

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def evaluated_once(evaluate: Callable[_Given, Awaitable[_Found]]) -> Callable[_Given, Awaitable[_Found]]:
    """A dependency with a parameter `request`, called once for each request and before its body is read."""

    @wraps(evaluate)
    async def evaluated(*args: _Given.args, **given: _Given.kwargs) -> _Found:
        request: Any = given["request"] if "request" in given else args[0]
        found: dict[Any, _Found] = request.scope.setdefault(EVALUATED, {})
        if evaluate not in found:
            found[evaluate] = await evaluate(*args, **given)
        return found[evaluate]

    evaluated.judges = True  # type: ignore[attr-defined]
    return evaluated


def early_dependencies_of(dependant: Dependant) -> list[Resolver]:
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
