"""Routes that are built when they are first used.

The framework works out a route's parameters and models as soon as it is declared, and again for each router that
includes it. For some hundred and sixty routes that is half of the work of a start, and most processes answer few of
them. A `LazyRoute` keeps its declaration until an attribute of the built route is read.
"""

from collections.abc import Callable, Iterator
from typing import Any, Self

from fastapi import APIRouter
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import BaseRoute


class LazyRoute(APIRoute):
    """A route of the framework; building it waits until it is matched, described or called."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **declared: Any) -> None:
        self.path = path
        self.endpoint = endpoint
        self._declared = declared
        self._is_being_built = False

    def __getattr__(self, name: str) -> Any:
        """An attribute that only the built route has. Python asks here only while the route has none of this name."""
        if self.__dict__.get("_is_being_built", True):
            raise AttributeError(name)
        self._is_being_built = True
        super().__init__(self.path, self.endpoint, **self._declared)
        return getattr(self, name)

    @property
    def declared_methods(self) -> list[str]:
        """The methods, known before the route is built."""
        return self._declared["methods"] or ["GET"]

    def below(self, prefix: str, including: APIRouter, **declared: Any) -> Self:
        """The same route under `prefix`, with tags and dependencies of the including router before its own."""
        own = self._declared
        return type(self)(
            prefix + self.path,
            self.endpoint,
            **{
                **own,
                **declared,
                "tags": [*including.tags, *own["tags"]],
                "dependencies": [*including.dependencies, *own["dependencies"]],
            },
        )


def include(including: APIRouter, *included: APIRouter) -> None:
    """Add the routes of `included` to `including`, unbuilt."""
    for router in included:
        including.routes += routes_below(including.prefix, router, including)


def routes_below(
    prefix: str, router: APIRouter, including: APIRouter | None = None, **declared: Any
) -> Iterator[BaseRoute]:
    """Yield the routes of a router under `prefix`; `declared` replaces the declarations of the same name on each."""
    for route in router.routes:
        if isinstance(route, LazyRoute):
            yield route.below(prefix, including or APIRouter(), **declared)
        elif isinstance(route, APIWebSocketRoute):
            yield APIWebSocketRoute(prefix + route.path, route.endpoint, name=route.name)
        else:
            raise TypeError(f"{route!r} is no lazy route")
