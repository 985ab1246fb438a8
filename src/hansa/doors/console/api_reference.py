"""The operations of the API as pages show them, read from the OpenAPI document."""

import asyncio
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import FastAPI

Document = Mapping[str, Any]

SCHEMES = {
    "AgentToken": "an agent token",
    "DeveloperToken": "a developer token or an API key",
    "BootstrapToken": "a bootstrap token",
    "PasswordToken": "the token of a password recovery",
    "InternalKey": "the internal key",
    "FederationLicence": "a federation licence key",
    "MutualTLS": "a client certificate (mutual TLS)",
}
_HEADERS = {
    "AgentToken": "Authorization: Bearer $AGENT_TOKEN",
    "DeveloperToken": "Authorization: Bearer $DEVELOPER_TOKEN",
    "BootstrapToken": "Bootstrap-Token: $BOOTSTRAP_TOKEN",
    "PasswordToken": "Authorization: Bearer $PASSWORD_TOKEN",
    "InternalKey": "X-Internal-Key: $INTERNAL_KEY",
    "FederationLicence": "X-Federation-License: $LICENCE_KEY",
}
_DECLARED_CODE = re.compile(r"`([A-Za-z][A-Za-z0-9_]+)`: ")
DEPTH_MAX = 3


class Operation(msgspec.Struct, frozen=True):
    """One operation as a list names it."""

    name: str
    method: str
    path: str
    summary: str

    @property
    def address(self) -> str:
        """The path of its page."""
        return f"/docs/operations/{self.name}"


class Member(msgspec.Struct, frozen=True):
    """A parameter, or a member of a body; members of members have dotted names."""

    name: str
    kind: str
    is_required: bool
    description: str


class Refusal(msgspec.Struct, frozen=True):
    """One error that an operation declares; `code` is None where any code of the status may come."""

    status: int
    code: str | None
    sentence: str


class Body(msgspec.Struct, frozen=True):
    """A body with the members of its schema and an example as text."""

    title: str
    description: str
    media_type: str
    members: list[Member]
    example: str | None


class OperationDetails(msgspec.Struct, frozen=True):
    """Everything that the page of one operation says."""

    operation: Operation
    tag: str
    description: str
    credentials: list[str]
    parameters: list[Member]
    request: Body | None
    answers: list[Body]
    refusals: list[Refusal]
    command: str

    @property
    def form_address(self) -> str:
        """Address of this operation on the interactive page."""
        return f"/docs/try#/{quote(self.tag)}/{self.operation.name}"


async def api_document(app: FastAPI) -> Document:
    """The description of the API. The first request has it written, in a thread, so that other requests go on."""
    document: Document = await asyncio.to_thread(app.openapi)
    return document


def operations_by_tag(document: Document) -> list[tuple[str, str, list[Operation]]]:
    """Name and description of each tag, in the order of the document, with its operations."""
    groups: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for operation, declared in _operations(document):
        groups[declared["tags"][0]].append(operation)
    return [
        (tag["name"], tag["description"], groups[tag["name"]])
        for tag in document["tags"]
        if groups[tag["name"]]
    ]


def operation_details(document: Document, name: str, base_url: str) -> OperationDetails | None:
    """The operation with this id, or None."""
    for operation, declared in _operations(document):
        if operation.name == name:
            return _details(document["components"]["schemas"], operation, declared, base_url)
    return None


def _operations(document: Document) -> Iterator[tuple[Operation, Mapping[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, declared in methods.items():
            summary = _first_sentence(declared.get("description") or declared["summary"])
            yield Operation(declared["operationId"], method.upper(), path, summary), declared


def _details(
    schemas: Mapping[str, Any], operation: Operation, declared: Mapping[str, Any], base_url: str
) -> OperationDetails:
    request = None
    if content := declared.get("requestBody", {}).get("content"):
        request = _body(schemas, "Request", "", content)
    answers = [
        _body(
            schemas,
            f"{status} {HTTPStatus(int(status)).phrase}",
            answer["description"],
            answer.get("content", {}),
        )
        for status, answer in declared["responses"].items()
        if status.startswith(("1", "2", "3"))
    ]
    schemes = [name for scheme in declared.get("security", []) for name in scheme]
    return OperationDetails(
        operation=operation,
        tag=declared["tags"][0],
        description=declared.get("description", ""),
        credentials=[SCHEMES[name] for name in schemes],
        parameters=[_parameter(schemas, one) for one in declared.get("parameters", [])],
        request=request,
        answers=answers,
        refusals=list(_refusals(declared)),
        command=_command(operation, declared, schemes, request, base_url),
    )


def _refusals(declared: Mapping[str, Any]) -> Iterator[Refusal]:
    for status, answer in declared["responses"].items():
        if status.startswith(("4", "5")):
            codes = _DECLARED_CODE.split(answer["description"])
            if codes[0].strip():
                yield Refusal(int(status), None, codes[0].strip())
            for code, sentence in zip(codes[1::2], codes[2::2], strict=True):
                yield Refusal(int(status), code, sentence.strip())


def _body(schemas: Mapping[str, Any], title: str, description: str, content: Mapping[str, Any]) -> Body:
    media_type = next(iter(content), "")
    declared: Mapping[str, Any] = content.get(media_type, {})
    example = declared.get("example")
    if example is not None and not isinstance(example, str):
        example = json.dumps(example, indent=2, ensure_ascii=False)
    members = list(_members(schemas, declared.get("schema", {}), "", DEPTH_MAX))
    return Body(
        title, "" if description == "Successful Response" else description, media_type, members, example
    )


def _parameter(schemas: Mapping[str, Any], declared: Mapping[str, Any]) -> Member:
    schema = declared["schema"]
    description = declared.get("description") or schema.get("description", "")
    return Member(
        declared["name"],
        f"{_kind(schemas, schema)}, in {declared['in']}",
        declared.get("required", False),
        _with_default(description, schema),
    )


def _members(
    schemas: Mapping[str, Any], schema: Mapping[str, Any], prefix: str, depth: int
) -> Iterator[Member]:
    """The members of an object, or of the items of an array, down to `depth` levels."""
    schema, suffix = _shape(schemas, schema)
    if suffix and not prefix:
        prefix = f"{suffix}."
    for name, member in schema.get("properties", {}).items():
        description = _with_default(member.get("description", ""), member)
        yield Member(
            f"{prefix}{name}", _kind(schemas, member), name in schema.get("required", []), description
        )
        if depth > 1:
            inner = _shape(schemas, member)[1]
            yield from _members(schemas, member, f"{prefix}{name}{inner}.", depth - 1)


def _shape(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The schema behind references, null and lists; `[]` where it is that of the items of a list."""
    suffix = ""
    while True:
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        elif branches := _branches(schema):
            schema = branches[0]
        elif schema.get("type") == "array":
            schema, suffix = schema.get("items", {}), "[]"
        else:
            return schema, suffix


def _branches(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in schema.get("anyOf", schema.get("oneOf", [])) if one.get("type") != "null"]


def _kind(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _kind(schemas, schemas[schema["$ref"].rpartition("/")[2]])
    if branches := _branches(schema):
        kinds = dict.fromkeys(_kind(schemas, branch) for branch in branches)
        is_nullable = len(branches) < len(schema.get("anyOf", schema.get("oneOf", [])))
        return " or ".join([*kinds, *(["null"] if is_nullable else [])])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " or ".join(json.dumps(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schemas, schema.get('items', {}))}"
    return _bounded(schema)


def _bounded(schema: Mapping[str, Any]) -> str:
    kind = str(schema.get("type", "any value"))
    bounds = [
        ("minimum", "at least {}"),
        ("maximum", "at most {}"),
        ("exclusiveMinimum", "above {}"),
        ("minLength", "at least {} characters"),
        ("maxLength", "at most {} characters"),
    ]
    declared = [words.format(schema[name]) for name, words in bounds if name in schema]
    if "format" in schema:
        kind = f"{kind} ({schema['format']})"
    return ", ".join([kind, *declared])


def _with_default(description: str, schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return description if default is None else f"{description} Default: {json.dumps(default)}.".strip()


def _first_sentence(text: str) -> str:
    return text.strip().split("\n\n")[0].replace("\n", " ")


def _command(
    operation: Operation, declared: Mapping[str, Any], schemes: list[str], request: Body | None, base_url: str
) -> str:
    """Return a command for a shell with curl; the values to fill in are variables."""
    parts = ["curl -sS --fail-with-body"]
    if operation.method != "GET":
        parts.append(f"-X {operation.method}")
    parts.append(
        '"'
        + base_url
        + re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: "$" + found[1].upper(), operation.path)
        + '"'
    )
    header = next((_HEADERS[name] for name in schemes if name in _HEADERS), None)
    if header is not None and all(declared.get("security", [{}])):
        parts.append(f'-H "{header}"')
    if request is not None and request.example is not None and request.media_type == "application/json":
        parts.append("-H 'Content-Type: application/json'")
        parts.append(f"-d {shlex.quote(request.example)}")
    return " \\\n  ".join(parts)
