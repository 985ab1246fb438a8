"""The OpenAPI document: who may call each operation, one problem shape for every refusal, an example of each body."""

import asyncio
import json
from collections.abc import Iterator
from functools import cached_property
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from fastapi.routing import APIRoute, iter_route_contexts

from hansa.doors.http.api.examples import add_examples
from hansa.doors.http.api.tags import TAGS
from hansa.foundation.plumbing.process.runtime import Runtime, Slot, runtime_of
from hansa.foundation.plumbing.web.content_encoding import accepts_gzip, compressed
from hansa.foundation.plumbing.web.declared_refusals import refusals_of
from hansa.foundation.plumbing.web.peer_caller import PEER_SCHEME
from hansa.foundation.plumbing.web.problem_docs import (
    PROBLEM_SHAPE,
    Problem,
    add_problems,
    every_refusal,
    problem_response,
    referring_to,
)

COMMON = {
    "429": "A rate limit is exceeded; the Retry-After header says when to retry.",
    "503": "The registry cannot answer just now. Retry-After says when to come back, with the same Idempotency-Key.",
}
BODY = {
    "413": "The body is too large.",
    "415": "The route does not support the media type of the body.",
    "422": "The request does not have the required format.",
}
HOSTILE_TARGET = "The path or query contains NUL or is not UTF-8, or the path ends with a line feed."

DESCRIPTION = (
    "Bodies are JSON unless stated otherwise. Amounts are decimal strings in the unit of this registry, times are"
    " ISO 8601. Every error is a problem document (RFC 9457); branch on `error.type`, then on `error.code`."
)
# Replaced by the operator of the registry that publishes the document.
OPERATOR = {"name": "The operator"}
LICENCE = {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
# The document is served by the registry that it describes.
SERVERS = [{"url": "/", "description": "This registry."}]
MUTUAL_TLS = {
    "type": "mutualTLS",
    "description": "The client certificate of a service of the operator, presented to the federation listener.",
}
BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}


def operation_id(route: APIRoute) -> str:
    """The name of the function that answers. Two routes with one function: name them with `operation_id=`."""
    return route.name


class ApiDescription:
    """The document of one application, encoded at the first request."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    @cached_property
    def encoded(self) -> bytes:
        """JSON."""
        return json.dumps(self._app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()

    @cached_property
    def compressed(self) -> bytes:
        """JSON as gzip."""
        return compressed(self.encoded)


API_DESCRIPTION: Slot[ApiDescription] = Slot("http: description of the API")


class DescribedRoutes:
    """The document of the routes of this process, which is the same for every registry but for its operator."""

    def __init__(self) -> None:
        self._writing = Lock()
        self._document: dict[str, Any] | None = None

    def document_of(self, app: FastAPI) -> dict[str, Any]:
        """Written of the first application: each has these routes. Not to be changed."""
        with self._writing:
            if self._document is None:
                self._document = _document(app)
            return self._document


def install(app: FastAPI, runtime: Runtime, described: DescribedRoutes) -> None:
    """Publish the description of `app`, which serves with `runtime`."""
    settings = runtime.settings
    contact = {"name": f"The operator of {settings.registry_name}", "url": settings.base_url}

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = described.document_of(app)
            app.openapi_schema = {**document, "info": {**document["info"], "contact": contact}}
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]
    API_DESCRIPTION.put(runtime, ApiDescription(app))


async def answer(request: Request) -> Response:
    """The document of the application that serves the request.

    The first request has it written, which takes a second: in a thread, so that other requests go on.
    """
    description = API_DESCRIPTION.of(runtime_of(request))
    headers = {"Vary": "Accept-Encoding"}
    form = "encoded"
    if accepts_gzip(request.headers):
        headers["Content-Encoding"], form = "gzip", "compressed"
    body = await asyncio.to_thread(getattr, description, form)
    return Response(body, media_type="application/json", headers=headers)


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=DESCRIPTION,
        contact=OPERATOR,
        license_info=LICENCE,
        servers=SERVERS,
        routes=app.routes,
        tags=[{"name": name, "description": description} for name, description in TAGS.items()],
    )
    _declare_problems(document)
    _declare_what_dependencies_raise(document, app)
    for operation in _operations(document):
        _declare_credentials(operation)
        _declare_refusals(operation)
        _keep_one_tag(operation)
    document["components"]["securitySchemes"]["MutualTLS"] = MUTUAL_TLS
    document["components"]["securitySchemes"].pop(PEER_SCHEME, None)
    _write_whole_numbers(document)
    add_examples(document)
    return document


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (operation for path in document["paths"].values() for operation in path.values())


def _declare_problems(document: dict[str, Any]) -> None:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    shapes: list[type[Problem]] = [Problem, *Problem.__subclasses__()]
    for shape in shapes:
        model = shape.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(model.pop("$defs", {}))
        schemas[shape.__name__] = model
    schemas["ProblemError"]["properties"]["code"]["examples"] = list(every_refusal())
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)


def _declare_what_dependencies_raise(document: dict[str, Any], app: FastAPI) -> None:
    for route in iter_route_contexts(app.routes):
        if hasattr(route, "dependant") and getattr(route, "include_in_schema", False):
            refusals = refusals_of(route.dependant, app.state.runtime)
            for method in route.methods or ():
                add_problems(document["paths"][route.path_format][method.lower()]["responses"], refusals)


def _declare_credentials(operation: dict[str, Any]) -> None:
    """Declare no credential where none is taken, and mutual TLS, which the framework does not know: beside the internal key, and on routes of peers."""
    schemes = operation.setdefault("security", [])
    if {"InternalKey": []} in schemes:
        schemes.append({"MutualTLS": []})
    for scheme in schemes:
        if scheme.pop(PEER_SCHEME, None) is not None:
            scheme["MutualTLS"] = []


def _declare_refusals(operation: dict[str, Any]) -> None:
    responses: dict[str, Any] = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422")):
        responses["422"] = problem_response(BODY["422"])
    for status, description in {**COMMON, **(BODY if "requestBody" in operation else {})}.items():
        responses.setdefault(status, problem_response(description))
    responses.setdefault("400", problem_response(HOSTILE_TARGET))
    shape = operation.pop(PROBLEM_SHAPE, None)
    if shape is not None:
        # Such a route answers every malformed request with 400.
        responses.pop("422", None)
        for response in responses.values():
            referring_to(response, shape)
    operation["responses"] = {status: responses[status] for status in sorted(responses)}


def _keep_one_tag(operation: dict[str, Any]) -> None:
    """Keep the tag of the inner router where a router is within a router. A test names the operation that has none."""
    operation["tags"] = operation.get("tags", [])[-1:]


def _write_whole_numbers(node: Any) -> None:
    """The framework keeps bounds as floats and writes 30.0; a generator then takes an integer for a float."""
    for name, value in node.items() if isinstance(node, dict) else enumerate(node):
        if name in BOUNDS and isinstance(value, float) and value.is_integer():
            node[name] = int(value)
        elif isinstance(value, dict | list):
            _write_whole_numbers(value)
