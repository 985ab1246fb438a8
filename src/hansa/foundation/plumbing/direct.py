"""Hot routes: the same declarations as everywhere, with their dependencies called directly.

The framework solves a route's dependencies anew for every request, which costs several times the work of the money
routes. A `DirectRoute` works them out once, when it is declared; OpenAPI sees no difference. It understands JSON
bodies, headers, query members or a model of them, the request itself and dependencies made of these: what it does not understand stops the start.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Annotated, Any, Literal, TypeGuard, get_args, get_origin, get_type_hints

from fastapi import APIRouter, Request, params
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.security.base import SecurityBase
from pydantic import BaseModel, TypeAdapter, ValidationError

from hansa.foundation.plumbing.bodies import GuardedRoute, guarded_json

Resolver = Callable[[Request, Any], Any]
"""Finds a value in the request and its parsed body, or gives a coroutine that does."""


class DirectRoute(GuardedRoute):
    """A route whose dependencies are called directly and whose model, if it answers with one, is sent as it is."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        call = directly(self.endpoint)
        before = [resolve for resolve, is_waited_for in map(_dependency, self.dependencies) if is_waited_for]
        takes_body = self.body_field is not None

        async def answered(request: Request) -> Response:
            parsed = await guarded_json(request) if takes_body else None
            for dependency in before:
                await dependency(request, parsed)
            answer: Response | BaseModel = await call(request, parsed)
            if isinstance(answer, Response):
                return answer
            return Response(answer.model_dump_json(), media_type="application/json")

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


def directly(endpoint: Callable[..., Any]) -> Resolver:
    """A call of the coroutine function `endpoint` with its parameters found in the request and its parsed body."""
    hints = get_type_hints(endpoint, include_extras=True)
    parameters = inspect.signature(endpoint).parameters.items()
    # As the framework does it: who asks is judged before what is asked.
    ordered = sorted(parameters, key=lambda item: _is_of_the_request(hints[item[0]]))
    resolvers = [(name, *_resolver(name, hints[name], parameter.default)) for name, parameter in ordered]

    async def call(request: Request, body: Any) -> Any:
        values = {}
        for name, resolve, is_waited_for in resolvers:
            value = resolve(request, body)
            values[name] = await value if is_waited_for else value
        return await endpoint(**values)

    def call_at_once(request: Request, body: Any) -> Awaitable[Any]:
        return endpoint(**{name: resolve(request, body) for name, resolve, _ in resolvers})  # type: ignore[no-any-return]

    return call if any(is_waited_for for _, _, is_waited_for in resolvers) else call_at_once


def _resolver(name: str, hint: Any, default: Any) -> tuple[Resolver, bool]:
    """How the parameter is found, and whether that is waited for."""
    if hint is Request:
        return _the_request, False
    if _is_model(hint):
        return _body_of(hint), False
    if isinstance(default, params.Depends):
        return _dependency(default)
    if get_origin(hint) is Annotated:
        for detail in get_args(hint)[1:]:
            if isinstance(detail, params.Depends):
                return _dependency(detail)
            if isinstance(detail, params.Header):
                alias = detail.alias or name.replace("_", "-")
                return _named_value("header", alias, hint, default), False
            if isinstance(detail, params.Query):
                return _query(detail.alias or name, hint, default), False
    raise TypeError(f"a direct route cannot find the parameter {name} in a request")


def _is_model(hint: Any) -> TypeGuard[type[BaseModel]]:
    return inspect.isclass(hint) and issubclass(hint, BaseModel)


def _is_of_the_request(hint: Any) -> bool:
    return _is_model(hint) or any(isinstance(detail, params.Param) for detail in get_args(hint))


def _dependency(detail: params.Depends) -> tuple[Resolver, bool]:
    assert detail.dependency is not None
    # A security scheme is there for the description alone; the caller's check reads the header itself.
    if isinstance(detail.dependency, SecurityBase):
        return _nothing, False
    return directly(detail.dependency), True


def _body_of(model: type[BaseModel]) -> Resolver:
    def validated(request: Request, body: Any) -> BaseModel:
        del request
        if body is None:
            raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
        try:
            return model.model_validate(body)
        except ValidationError as trouble:
            raise RequestValidationError(_located("body", trouble), body=body) from None

    return validated


def _query(name: str, hint: Any, default: Any) -> Resolver:
    """One member of the query, or a model of all of it."""
    model = get_args(hint)[0]
    return _query_of(model) if _is_model(model) else _named_value("query", name, hint, default)


def _query_of(model: type[BaseModel]) -> Resolver:
    def validated(request: Request, body: Any) -> BaseModel:
        del body
        try:
            return model.model_validate(dict(request.query_params))
        except ValidationError as trouble:
            raise RequestValidationError(_located("query", trouble)) from None

    return validated


def _named_value(place: Literal["header", "query"], name: str, hint: Any, default: Any) -> Resolver:
    adapter = TypeAdapter[Any](hint)

    def validated(request: Request, body: Any) -> Any:
        del body
        value = request.headers.get(name) if place == "header" else request.query_params.get(name)
        if value is None:
            return default
        try:
            return adapter.validate_python(value)
        except ValidationError as trouble:
            raise RequestValidationError(_located(place, trouble, name)) from None

    return validated


def _located(place: str, trouble: ValidationError, *inside: str) -> list[dict[str, Any]]:
    return [{**error, "loc": (place, *inside, *error["loc"])} for error in trouble.errors()]


def _the_request(request: Request, body: Any) -> Request:
    del body
    return request


def _nothing(request: Request, body: Any) -> None:
    del request, body
