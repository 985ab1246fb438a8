"""Calling a function with the parts of a request that it declares: dependencies, headers, query members and a parsed body.

How each parameter is found is worked out once, when the route is declared. It understands a model of the JSON body,
which may be absent, headers, a member of the path, query members or a model of them, the request itself and dependencies made of these but the body: anything
else is a TypeError.
"""

import inspect
from collections.abc import Awaitable, Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard, TypeVar, get_args, get_origin

from fastapi import Request, params
from fastapi.exceptions import RequestValidationError
from fastapi.security.base import SecurityBase
from pydantic import BaseModel, TypeAdapter, ValidationError

Resolver = Callable[[Request, Any], Any]
"""Finds a value in the request and its parsed body, or gives a coroutine that does."""


Named: TypeAlias = tuple[str, Resolver, bool]
"""A parameter, how it is found, and whether that is waited for."""

_Found = TypeVar("_Found")


def found_at_once(find: Callable[[Request], _Found]) -> Callable[[Request], Awaitable[_Found]]:
    """A dependency that waits for nothing: a direct route calls `find` instead of a coroutine."""

    async def found(request: Request) -> _Found:
        return find(request)

    found.at_once = find  # type: ignore[attr-defined]
    return found


def found_in_process(find: Callable[[Request], _Found]) -> Callable[[Request], Awaitable[_Found]]:
    """Return a dependency like that of `found_at_once`, for a value that is the same for every request that one process serves."""
    found = found_at_once(find)
    found.in_process = find  # type: ignore[attr-defined]
    return found


def directly(dependency: Callable[..., Any], *, remembering: bool = False) -> Resolver:
    """A call of the coroutine function `dependency` with its parameters found in the request.

    With `remembering` a dependency that is judged once for a request stays so (`evaluated_once`).

    Raises: TypeError.
    """
    resolvers = [
        _resolver(name, hint, default, remembering=remembering)
        for name, hint, default in _parameters(dependency)
    ]
    called = dependency if remembering else inspect.unwrap(dependency)

    async def call(request: Request, body: Any) -> Any:
        values = {}
        for name, resolve, is_waited_for in resolvers:
            value = resolve(request, body)
            values[name] = await value if is_waited_for else value
        return await called(**values)

    def call_at_once(request: Request, body: Any) -> Awaitable[Any]:
        return called(**{name: resolve(request, body) for name, resolve, _ in resolvers})  # type: ignore[no-any-return]

    def call_for_the_request(request: Request, _: Any) -> Awaitable[Any]:
        return called(**{first: request}, **nothing)  # type: ignore[no-any-return]

    if any(is_waited_for for _, _, is_waited_for in resolvers):
        return call
    if [resolve for _, resolve, _ in resolvers if resolve is not _nothing] != [_the_request]:
        return call_at_once
    # Most of those that judge who asks: the request, and security schemes that are there for the description.
    (first,) = [name for name, resolve, _ in resolvers if resolve is _the_request]
    nothing = {name: None for name, _, _ in resolvers if name != first}
    return call_for_the_request


def in_two_steps(
    endpoint: Callable[..., Any],
) -> tuple[list[Named], list[Named], Callable[..., Awaitable[Any]]]:
    """First the dependencies, which judge who asks, then a call with their values, the request and its parsed body.

    Those of them that are the same for every request of a process stand in a list of their own, the first one.
    """
    parameters = _parameters(endpoint)
    dependencies = [one for one in parameters if not _is_of_the_request(one[1])]
    of_process = [_resolver(*one) for one in dependencies if _is_of_process(*one[1:])]
    first = [_resolver(*one) for one in dependencies if not _is_of_process(*one[1:])]
    then = [_resolver(*one, takes_body=True) for one in parameters if _is_of_the_request(one[1])]

    def call(values: dict[str, Any], request: Request, body: Any) -> Awaitable[Any]:
        for name, resolve, _ in then:
            values[name] = resolve(request, body)
        return endpoint(**values)  # type: ignore[no-any-return]

    return of_process, first, call


def _is_of_process(hint: Any, default: Any) -> bool:
    details = (default, *(get_args(hint)[1:] if get_origin(hint) is Annotated else ()))
    return any(
        isinstance(detail, params.Depends) and hasattr(detail.dependency, "in_process") for detail in details
    )


def _parameters(called: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Name, type and default of each parameter."""
    return [
        (name, parameter.annotation, parameter.default)
        for name, parameter in inspect.signature(called, eval_str=True).parameters.items()
    ]


def _resolver(
    name: str, hint: Any, default: Any, *, takes_body: bool = False, remembering: bool = False
) -> Named:
    """How one parameter is found. Raises: TypeError."""
    if hint is Request:
        return name, _the_request, False
    if takes_body and (model := _model_of(hint)) is not None:
        return name, _body_of(model, is_optional=model is not hint), False
    if isinstance(default, params.Depends):
        return name, *_dependency(default, remembering=remembering)
    if get_origin(hint) is Annotated:
        for detail in get_args(hint)[1:]:
            if isinstance(detail, params.Depends):
                return name, *_dependency(detail, remembering=remembering)
            if isinstance(detail, params.Param):
                return name, _member_of_the_request(name, hint, default, detail), False
    raise TypeError(f"a direct route cannot find the parameter {name} in a request")


def _is_model(hint: Any) -> TypeGuard[type[BaseModel]]:
    return inspect.isclass(hint) and issubclass(hint, BaseModel)


def _model_of(hint: Any) -> type[BaseModel] | None:
    """The model of a body; also of one that may be absent, `Model | None`."""
    if _is_model(hint):
        return hint
    declared = [one for one in get_args(hint) if one is not NoneType]
    return (
        declared[0] if isinstance(hint, UnionType) and len(declared) == 1 and _is_model(declared[0]) else None
    )


def _is_of_the_request(hint: Any) -> bool:
    return _model_of(hint) is not None or any(isinstance(detail, params.Param) for detail in get_args(hint))


def _dependency(detail: params.Depends, *, remembering: bool) -> tuple[Resolver, bool]:
    assert detail.dependency is not None
    # A security scheme is there for the description alone; the caller's check reads the header itself.
    if isinstance(detail.dependency, SecurityBase):
        return _nothing, False
    if (find := getattr(detail.dependency, "at_once", None)) is not None:
        return lambda request, _: find(request), False
    return directly(detail.dependency, remembering=remembering), True


def _body_of(model: type[BaseModel], *, is_optional: bool) -> Resolver:
    def validated(request: Request, body: Any) -> BaseModel | None:
        del request
        if body is None and is_optional:
            return None
        if body is None:
            raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
        try:
            return model.model_validate(body)
        except ValidationError as error:
            raise RequestValidationError(_located("body", error), body=body) from None

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
        except ValidationError as error:
            raise RequestValidationError(_located("query", error)) from None

    return validated


def _member_of_the_request(name: str, hint: Any, default: Any, detail: params.Param) -> Resolver:
    """Raises: TypeError."""
    if isinstance(detail, params.Header):
        return _named_value("header", detail.alias or name.replace("_", "-"), hint, default)
    if isinstance(detail, params.Path):
        return _path_member(name, hint)
    if isinstance(detail, params.Query):
        return _query(detail.alias or name, hint, default)
    raise TypeError(f"a direct route cannot find the parameter {name} in a request")


def _path_member(name: str, hint: Any) -> Resolver:
    adapter = TypeAdapter[Any](hint)

    def validated(request: Request, body: Any) -> Any:
        del body
        try:
            return adapter.validate_python(request.path_params[name])
        except ValidationError as error:
            raise RequestValidationError(_located("path", error, name)) from None

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
        except ValidationError as error:
            raise RequestValidationError(_located(place, error, name)) from None

    return validated


def _located(place: str, failure: ValidationError, *inside: str) -> list[dict[str, Any]]:
    return [{**error, "loc": (place, *inside, *error["loc"])} for error in failure.errors()]


def _the_request(request: Request, body: Any) -> Request:
    del body
    return request


def _nothing(request: Request, body: Any) -> None:
    del request, body
