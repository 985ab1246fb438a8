"""Hot routes: the same declarations as everywhere, with their dependencies called directly.

The framework solves a route's dependencies anew for every request, which costs several times the work of the money
routes. A `DirectRoute` works them out once, when it is declared; OpenAPI sees no difference. What it does not
understand stops the start.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.bodies import GuardedRoute, JsonText, guarded_json
from hansa.foundation.plumbing.parameter_binding import directly, in_two_steps


class DirectRoute(GuardedRoute):
    """A route whose dependencies are called directly and whose model, if it answers with one, is sent as it is."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        judge, call = in_two_steps(self.endpoint)
        before = [
            directly(dependency.dependency) for dependency in self.dependencies if dependency.dependency
        ]
        takes_body = self.body_field is not None

        async def answered(request: Request) -> Response:
            for dependency in before:
                await dependency(request, None)
            values = await judge(request)
            parsed = await guarded_json(request) if takes_body else None
            answer: Response | BaseModel = await call(values, request, parsed)
            if isinstance(answer, Response):
                return answer
            return JsonText(answer.model_dump_json())

        return answered


def direct_handlers(
    routers: Iterable[APIRouter], prefix: str
) -> dict[tuple[str, str], Callable[[Request], Awaitable[Response]]]:
    """The handlers of the direct routes among these routers, by method and path."""
    return {
        (method, prefix + route.path): route.get_route_handler()
        for router in routers
        for route in router.routes
        if isinstance(route, DirectRoute)
        for method in route.methods or ()
    }
