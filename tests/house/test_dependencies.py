"""A dependency of a route is a coroutine function: the framework runs every other one in a thread, for each request."""

import inspect
from collections.abc import Iterator
from typing import Any

from fastapi.dependencies.models import Dependant

from hansa.doors.assembly import ASSEMBLY


def dependencies_of(dependant: Dependant) -> Iterator[Any]:
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from dependencies_of(dependency)


def is_awaited(call: Any) -> bool:
    function = call if inspect.isroutine(call) or inspect.isclass(call) else type(call).__call__
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def test_no_dependency_of_a_route_runs_in_a_thread():
    routes = [
        route
        for router in (*ASSEMBLY.api_routers, *ASSEMBLY.root_routers)
        for route in router.routes
        if hasattr(route, "dependant")
    ]
    called = {call for route in routes for call in dependencies_of(route.dependant)}
    assert len(called) > 20
    assert [call for call in called if not is_awaited(call)] == []


def test_a_class_and_a_plain_function_are_recognized():
    class Given:
        async def __call__(self) -> None: ...

    assert is_awaited(Given())
    assert not is_awaited(Given)
    assert not is_awaited(lambda: None)
