"""Hot routes: the same declarations as everywhere, with their dependencies called directly.

The framework solves a route's dependencies anew for every request, which costs several times the work of the money
routes. A `DirectRoute` works them out once, for its first request; OpenAPI sees no difference. A declaration that it does not
understand is a TypeError, which a test raises for every route of the service.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.process.parameter_binding import directly, in_two_steps
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.bodies import GuardedRoute, JsonText, guarded_json, held_body, json_of
from hansa.foundation.plumbing.web.changed_caller import CallerChanged, is_to_be_repeated
from hansa.foundation.values.errors import Refused

Handler = Callable[[Request], Awaitable[Response]]
_BODY = "hansa.body"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


class DirectRoute(GuardedRoute):
    """A route whose dependencies are called directly and whose model, if it answers with one, is sent as it is."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        of_process, judges, call = in_two_steps(self.endpoint)
        before = [
            directly(dependency.dependency) for dependency in self.dependencies if dependency.dependency
        ]
        takes_body = self.body_field is not None

        def found_in_process(request: Request) -> dict[str, Any]:
            known = runtime_of(request).slots.parameters
            values = known.get(call)
            if values is None:
                values = known[call] = {name: resolve(request, None) for name, resolve, _ in of_process}
            return values.copy()

        async def answered(request: Request) -> Response:
            for dependency in before:
                await dependency(request, None)
            values = found_in_process(request)
            for name, resolve, is_waited_for in judges:
                value = resolve(request, None)
                values[name] = await value if is_waited_for else value
            parsed = await _body_of(request) if takes_body else None
            answer: Response | BaseModel = await call(values, request, parsed)
            if isinstance(answer, Response):
                return answer
            return JsonText(answer.model_dump_json())

        return _for_the_caller_as_it_is(answered)


async def _body_of(request: Request) -> Any:
    """The JSON body, which is received once for a request that is judged again."""
    if _BODY not in request.scope:
        body = held_body(request)
        request.scope[_BODY] = await guarded_json(request) if body is None else json_of(request, body)
    return request.scope[_BODY]


def _for_the_caller_as_it_is(answered: Handler) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """The same, repeated where a request was refused for a caller that has changed since this process read it."""

    async def answered_now(request: Request) -> Response:
        try:
            return await answered(request)
        except (CallerChanged, Refused, RequestValidationError) as error:
            if not await is_to_be_repeated(request, error):
                raise
        return await answered(request)

    return answered_now


def direct_handlers(routers: Iterable[APIRouter], prefix: str) -> dict[tuple[str, str], Handler]:
    """The handlers of the direct routes among these routers, by method and path."""
    return {
        (method, prefix + route.path): _handler_of(route)
        for route in _direct_routes(routers)
        if not _PARAMETER.search(route.path)
        for method in route.declared_methods
    }


def _direct_routes(routers: Iterable[APIRouter]) -> Iterator[DirectRoute]:
    return (route for router in routers for route in router.routes if isinstance(route, DirectRoute))


def _handler_of(route: DirectRoute) -> Handler:
    """The handler of a route, which its first request builds."""
    built: Handler | None = None

    def answer(request: Request) -> Awaitable[Response]:
        nonlocal built
        if built is None:
            built = route.get_route_handler()
        return built(request)

    return answer


class DirectMember(msgspec.Struct, frozen=True):
    """A direct route with one parameter between a fixed beginning and the last part of the path: `path` is its template."""

    path: str
    name: str
    handler: Handler


def direct_members(routers: Iterable[APIRouter], prefix: str) -> dict[tuple[str, str, str], DirectMember]:
    """Return the direct routes of these routers that have one parameter before the last part, by method and the text around it."""
    return {
        (method, *_around(prefix + route.path)): _member_of(prefix + route.path, route)
        for route in _direct_routes(routers)
        if _PARAMETER.search(route.path)
        for method in route.declared_methods
    }


def _member_of(path: str, route: DirectRoute) -> DirectMember:
    (name,) = _PARAMETER.findall(route.path)
    before, end = _around(path)
    if f"{before}/{{{name}}}/{end}" != path:
        raise TypeError(f"{path}: the parameter of a direct route is the part before the last one")
    return DirectMember(path, name, _handler_of(route))


def _around(path: str) -> tuple[str, str]:
    before, _, end = path.rsplit("/", 2)
    return before, end


class DirectTree(msgspec.Struct, frozen=True):
    """A direct route below a prefix: `path` is its template, which ends in `{name:path}`, or in `{name}` for one part alone."""

    method: str
    path: str
    prefix: str
    name: str
    is_one_part: bool
    handler: Handler

    def value_in(self, method: str, path: str) -> str | None:
        """The parameter in a path, or None for a path of another route."""
        if method != self.method or not path.startswith(self.prefix):
            return None
        value = path[len(self.prefix) :]
        return None if self.is_one_part and (not value or "/" in value) else value


def direct_trees(routers: Iterable[APIRouter], prefix: str) -> tuple[DirectTree, ...]:
    """The direct routes among these routers that have one parameter, the rest of the path."""
    return tuple(
        _tree_of(method, prefix + route.path, route)
        for route in _direct_routes(routers)
        if _PARAMETER.search(route.path)
        for method in route.declared_methods
    )


def _tree_of(method: str, path: str, route: DirectRoute) -> DirectTree:
    (name,) = _PARAMETER.findall(route.path)
    before, _, parameter = path.partition("{")
    is_one_part = parameter == f"{name}}}"
    if not is_one_part and parameter != f"{name}:path}}":
        raise TypeError(f"{path}: the parameter of a direct route is the rest of the path")
    return DirectTree(method, path, before, name, is_one_part, _handler_of(route))
