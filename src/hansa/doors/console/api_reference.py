"""The operations of the API as pages show them, read from the OpenAPI document."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI

from hansa.doors.console.access.forms import SECRET_FIELDS
from hansa.doors.console.code_samples import CREDENTIALS, ExampleRequest, Sample, address_of, samples_of
from hansa.foundation.plumbing.web.caller import AreaMissing

Document = Mapping[str, Any]

SCHEMES = {
    "AgentToken": "an agent token",
    "DeveloperToken": "a developer token or an API key",
    "BootstrapToken": "a bootstrap token",
    "PasswordToken": "the token of a password recovery",
    "InternalKey": "the internal key",
    "MetricsToken": "the token for metrics",
    "FederationLicence": "a federation licence key",
    "MutualTLS": "a client certificate (mutual TLS)",
    "PhoneCookie": "the cookie of an enrolled phone",
}
_DECLARED_CODE = re.compile(r"`([A-Za-z][A-Za-z0-9_]+)`: ")
DEPTH_MAX = 3
RUNNERS = frozenset({"AgentToken", "DeveloperToken"})
ACCOUNTS = "accounts"
"""The tag of operations that secure or end an account, for which it has pages."""


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

    @property
    def title(self) -> str:
        """The name as words."""
        return f"{self.name[:1].upper()}{self.name[1:]}".replace("_", " ")


class Member(msgspec.Struct, frozen=True):
    """A parameter, or a member of a body; members of members have dotted names.

    `place` of a parameter is path, query or header, `example` its declared example.
    """

    name: str
    kind: str
    is_required: bool
    description: str
    place: str = ""
    example: str = ""


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
    is_required: bool = False


class OperationDetails(msgspec.Struct, frozen=True):
    """Everything that the page of one operation says."""

    operation: Operation
    tag: str
    description: str
    schemes: list[str]
    parameters: list[Member]
    request: Body | None
    answers: list[Body]
    refusals: list[Refusal]
    samples: list[Sample]

    @property
    def is_runnable(self) -> bool:
        """A person may run it on its page: nothing of the administration, no password or code in the request, JSON in request and answer."""
        is_read = self.operation.method == "GET"
        is_administration = any(refusal.code == AreaMissing.code for refusal in self.refusals)
        is_of_a_person = bool(RUNNERS & set(self.schemes)) if self.schemes else is_read
        members = self.request.members if self.request else []
        bodies = [*([self.request] if self.request else []), *self.answers]
        return (
            is_of_a_person
            and not is_administration
            and (self.tag != ACCOUNTS or (is_read and bool(self.schemes)))
            and not any(member.name in SECRET_FIELDS for member in members)
            and all("json" in body.media_type for body in bodies if body.media_type)
        )

    @property
    def subject(self) -> str:
        """The tag as a heading."""
        return subject_of(self.tag)

    @property
    def credentials(self) -> list[str]:
        """The credentials in words; one of them is required."""
        return [SCHEMES[name] for name in self.schemes]


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


def subject_of(tag: str) -> str:
    """The tag as a heading; the name of a protocol stays as it is."""
    return tag if tag[1:2].isdigit() else f"{tag[:1].upper()}{tag[1:]}"


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
        is_required = declared["requestBody"].get("required", False)
        is_required = is_required or any(member.is_required for member in request.members)
        request = msgspec.structs.replace(request, is_required=is_required)
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
    parameters = [_parameter(schemas, one) for one in declared.get("parameters", [])]
    return OperationDetails(
        operation=operation,
        tag=declared["tags"][0],
        description=declared.get("description", ""),
        schemes=schemes,
        parameters=parameters,
        request=request,
        answers=answers,
        refusals=list(_refusals(declared)),
        samples=samples_of(_example(operation, declared, schemes, parameters, base_url)),
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
    example = declared.get("example", next(iter(schema.get("examples", [])), ""))
    return Member(
        declared["name"],
        _kind(schemas, schema),
        declared.get("required", False),
        _with_default(description, schema),
        declared["in"],
        example if isinstance(example, str) else json.dumps(example),
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
        return ", ".join([f"list of {_kind(schemas, schema.get('items', {}))}", *_limits(schema)])
    return _bounded(schema)


def _bounded(schema: Mapping[str, Any]) -> str:
    kind = str(schema.get("type", "any value"))
    if "format" in schema:
        kind = f"{kind} ({schema['format']})"
    return ", ".join([kind, *_limits(schema)])


def _limits(schema: Mapping[str, Any]) -> list[str]:
    bounds = [
        ("minimum", "at least {}"),
        ("maximum", "at most {}"),
        ("exclusiveMinimum", "above {}"),
        ("minLength", "at least {} characters"),
        ("maxLength", "at most {} characters"),
        ("minItems", "at least {} items"),
        ("maxItems", "at most {} items"),
    ]
    declared = [(words, schema[name]) for name, words in bounds if name in schema]
    return [words.format(bound).removesuffix("s" if bound == 1 else "") for words, bound in declared]


def _with_default(description: str, schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return description if default is None else f"{description} Default: {json.dumps(default)}.".strip()


def _first_sentence(text: str) -> str:
    return text.strip().split("\n\n")[0].replace("\n", " ")


def _example(
    operation: Operation,
    declared: Mapping[str, Any],
    schemes: list[str],
    parameters: list[Member],
    base_url: str,
) -> ExampleRequest:
    """The request with the example of each parameter that it requires."""
    required = [one for one in parameters if one.is_required]
    content = declared.get("requestBody", {}).get("content", {})
    media_type = next(iter(content), "")
    needs_credential = all(declared.get("security", [{}]))
    return ExampleRequest(
        method=operation.method,
        url=address_of(
            base_url,
            operation.path,
            {one.name: one.example for one in required if one.place == "path"},
            [(one.name, one.example) for one in required if one.place == "query"],
        ),
        credential=next((CREDENTIALS[name] for name in schemes if name in CREDENTIALS), None)
        if needs_credential
        else None,
        media_type=media_type,
        body=content[media_type].get("example") if media_type else None,
    )
