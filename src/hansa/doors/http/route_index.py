"""Index that finds the route of a path among some hundred, without asking each of them.

A route is asked only where its fixed beginning is that of the path. Among those asked, the first that was added answers,
as it would if all of them were asked in turn.
"""

from collections import defaultdict
from collections.abc import Sequence

from starlette.routing import BaseRoute, Match, Mount
from starlette.types import Receive, Scope, Send

CHOSEN = "hansa.route"

_Numbered = tuple[int, BaseRoute]


class RouteIndex(BaseRoute):
    """One route for all of them."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._fixed: dict[str, list[_Numbered]] = defaultdict(list)
        self._beginning: dict[str, list[_Numbered]] = defaultdict(list)
        for numbered in enumerate(routes):
            path = _path(numbered[1])
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


def _path(route: BaseRoute) -> str:
    path: str = getattr(route, "path", "")
    return f"{path}/{{path}}" if isinstance(route, Mount) else path
