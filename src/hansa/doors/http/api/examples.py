"""An example for each body of the OpenAPI document, built from its schema and from named values.

A body of a request shows the required members, or all of them when none is required; an answer shows every member. Where a member has
neither `examples` of its own nor a named value, its type decides, and `add_examples` reports it if it cannot.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hansa.doors.http.api.example_values import TEXTS, TEXTS_OF_TYPE, VALUES

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
