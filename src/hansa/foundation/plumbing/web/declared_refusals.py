"""Refusals that a dependency raises: the description of each route that has the dependency lists them."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from fastapi.dependencies.models import Dependant

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.values.errors import Refused

_Dependency = TypeVar("_Dependency", bound=Callable[..., Any])


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
