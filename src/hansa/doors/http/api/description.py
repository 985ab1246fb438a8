"""The OpenAPI document: who may call each operation, one problem shape for every refusal, an example of each body.

An example for each body of the OpenAPI document, built from its schema and from named values.

A body of a request shows the required members, or all of them when none is required; an answer shows every member. Where a member has
neither `examples` of its own nor a named value, its type decides, and `add_examples` reports it if it cannot.

The tags of the OpenAPI document, in the order of the pages that show it: one tag for each operation.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from fastapi.routing import APIRoute, iter_route_contexts

from hansa.doors.http.api.example_values import TEXTS, TEXTS_OF_TYPE, VALUES
from hansa.foundation.plumbing.process.runtime import Runtime, Slot, runtime_of
from hansa.foundation.plumbing.web.content_encoding import accepts_gzip, compressed
from hansa.foundation.plumbing.web.peer_caller import PEER_SCHEME
from hansa.foundation.plumbing.web.problem_docs import (
    PROBLEM_SHAPE,
    Problem,
    add_problems,
    every_refusal,
    problem_response,
    referring_to,
    refusals_of,
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
FORMATS = {
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
}
KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}
UNNAMED = "string"
_NOTHING = object()

TAGS: dict[str, str] = {
    "accounts": "Register, log in, two-factor login, passwords, sessions, deletion of the account.",
    "API keys": "Keys of a developer for programs, with scopes and an end.",
    "connected clients": "Clients that a person connected by OAuth, with their limits.",
    "OAuth": "Tokens, revocation and registration of clients, in the form of OAuth 2.1.",
    "webhooks": "Signed notifications of events to an address of the developer.",
    "organizations": "Organizations: members, invitations, teams, their agents, and changes that several owners agree to.",
    "attestations": "Circuits, and attestations of agents by zero-knowledge proofs.",
    "pipelines": "Chains of paid calls with a budget, their runs, and templates.",
    "work orders": "Work that organizations offer, bids of agents, and awards.",
    "agents": "Create agents; their tokens, keys, identity documents, rights and capabilities.",
    "mutual TLS": "Workload certificates of agents (X.509-SVID).",
    "wallets": "Wallets whose signatures pay for an agent.",
    "agent cards": "Create, read, change and export agent cards, and their versions.",
    "discovery": "Search agents of this registry and of its peers.",
    "discovery protocols": "What crawlers and other discovery protocols read: catalogues, descriptions, sitemaps.",
    "transfers": "Move units between agents.",
    "bridge": "Hold units of one sovereign mainframe wrapped at another.",
    "payments": "Pay for calls of agents with single-use tokens.",
    "x402": "Payments by stock clients of x402, version 2: with a wallet, or with a payment token.",
    "ledger": "Balances, statements and fees of agents.",
    "support": "Tickets of developers at the support of this registry, and reports about agents by anybody.",
    "exchange": "Points of organizations: listings, launches and subscriptions.",
    "governance": "Propose, vote by stake, tally; settings that votes decide.",
    "staking": "Lock units for a time, release them, claim rewards.",
    "contracts": "Agree on work with another agent: proposals, milestones, deliverables, payment at approval.",
    "disputes": "File a complaint about another agent, add evidence, and read what was ruled.",
    "achievements": "Achievements of agents with signed statements, flares that agents buy and show, badges.",
    "reputation": "Bonds of agents; scores, track records and marks, computed from settled payments and rulings.",
    "event store": "The ledger's events, their totals and the policies of their emission.",
    "live feed": "Tickets for the WebSocket channels of events.",
    "auditor": "The supply audit and its results.",
    "federation": "What registries send each other over mutual TLS.",
    "administrators": "Suspension, invitations, federation licences and the audit log.",
    "public": "The registry's configuration, its card and its keys.",
    "status": "Health and readiness of the process.",
}


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


class ExampleWriter:
    """Writes examples of schemas. `missing` collects the members that needed a named value and had none."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self.missing: set[str] = set()

    def example(self, schema: Mapping[str, Any], *, whole: bool, owner: str = "", name: str = "") -> Any:
        """An example of the schema; `whole` shows optional members too. `owner` is the model that has it as `name`."""
        if "$ref" in schema:
            return self._of_model(schema["$ref"].rpartition("/")[2], whole=whole)
        fixed = [VALUES.get(f"{owner}.{name}", _NOTHING), *schema.get("examples", [])]
        fixed += [schema["const"]] if "const" in schema else schema.get("enum", [])
        for branch in schema.get("anyOf", [schema]):
            fixed += [VALUES[name]] if name in VALUES and _fits(VALUES[name], branch) else []
        if found := [value for value in fixed if value is not _NOTHING]:
            return found[0]
        if branches := schema.get("anyOf"):
            schema = next(branch for branch in branches if branch.get("type") != "null")
            return self.example(schema, whole=whole, owner=owner, name=name)
        return self._of_type(schema, whole=whole, owner=owner, name=name)

    def _of_model(self, model: str, *, whole: bool) -> Any:
        schema = self._schemas[model]
        if model in VALUES:
            return VALUES[model]
        if "properties" not in schema:
            return self.example(schema, whole=whole, owner=model)
        required = schema.get("required", [])
        shown = schema["properties"] if whole or not required else required
        return {
            member: self.example(schema["properties"][member], whole=whole, owner=model, name=member)
            for member in shown
        }

    def _of_type(self, schema: Mapping[str, Any], *, whole: bool, owner: str, name: str) -> Any:
        kind = schema.get("type")
        if kind == "array":
            return [self.example(schema["items"], whole=whole, owner=owner, name=name)]
        if schema.get("default") is not None:
            return schema["default"]
        if kind == "boolean":
            return True
        if kind in {"integer", "number"}:
            return schema.get("minimum", 1)
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        self.missing.add(f"{owner}.{name}" if owner else name)
        return {} if kind == "object" else UNNAMED


def add_examples(document: dict[str, Any]) -> list[str]:
    """Give each body and each required parameter of the document an example.

    Returns the members for which only a meaningless one could be written.
    """
    writer = ExampleWriter(document["components"]["schemas"])
    for operation in (operation for path in document["paths"].values() for operation in path.values()):
        for parameter in operation.get("parameters", []):
            if parameter["required"] and "examples" not in parameter["schema"]:
                parameter["example"] = writer.example(parameter["schema"], whole=True, name=parameter["name"])
        for media_type, body, whole in _bodies(operation):
            if "json" in media_type or "form" in media_type:
                body["example"] = writer.example(body["schema"], whole=whole, name=operation["operationId"])
            else:
                body["example"] = TEXTS.get(operation["operationId"], TEXTS_OF_TYPE.get(media_type, UNNAMED))
    return sorted(writer.missing)


def _bodies(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """The bodies of an operation that is carried out: media type, declaration, whether a reader sees all of it."""
    for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
        yield media_type, body, False
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            for media_type, body in response.get("content", {}).items():
                yield media_type, body, True


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a value that is named after a member can be of this type; a text with a format has other examples."""
    return (
        "format" not in schema
        and "$ref" not in schema
        and schema.get("type", KINDS[type(value)]) == KINDS[type(value)]
    )
