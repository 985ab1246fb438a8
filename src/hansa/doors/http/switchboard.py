"""Which of some hundred routes a path belongs to, without asking each of them.

A route is asked only where its fixed beginning is that of the path. Among those asked, the first that was added answers,
as it would if all of them were asked in turn.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from fastapi import APIRouter
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import Receive, Scope, Send

CHOSEN = "hansa.route"

_Numbered = tuple[int, BaseRoute]


class Switchboard(BaseRoute):
    """One route for all of them."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._fixed: dict[str, list[_Numbered]] = defaultdict(list)
        self._beginning: dict[str, list[_Numbered]] = defaultdict(list)
        for numbered in enumerate(routes):
            for path in _paths(numbered[1]):
                beginning, brace, _ = path.partition("{")
                if brace:
                    self._beginning[beginning[: beginning.rindex("/") + 1]].append(numbered)
                else:
                    self._fixed[path].append(numbered)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The first route that takes the request; else the first that has its path and another method."""
        partial: tuple[Match, Scope] = (Match.NONE, {})
        for _, route in self._candidates(scope["path"]):
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                return match, {**child_scope, CHOSEN: route}
            if match is Match.PARTIAL and partial[0] is Match.NONE:
                partial = match, {**child_scope, CHOSEN: route}
        return partial

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the chosen route answer."""
        chosen: BaseRoute = scope.pop(CHOSEN)
        await chosen.handle(scope, receive, send)

    def _candidates(self, path: str) -> list[_Numbered]:
        found = [*self._fixed.get(path, ())]
        end = path.find("/")
        while end >= 0:
            found += self._beginning.get(path[: end + 1], ())
            end = path.find("/", end + 1)
        return sorted(found) if len(found) > 1 else found


def each_alone(router: APIRouter) -> Iterator[APIRouter]:
    """The routes of a router, each in one of its own, so that each is found by itself."""
    for route in router.routes:
        alone = APIRouter()
        alone.routes.append(route)
        yield alone


def _paths(route: BaseRoute) -> list[str]:
    if isinstance(route, Mount):
        return [f"{route.path}/{{path}}"]
    return [str(context.path) for context in iter_route_contexts([route])]
