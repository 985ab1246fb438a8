"""The forms of Hansa's documents, and the part of JSON Schema (draft 2020-12) in which they are written.

Every pattern matches a whole string. A boolean is no integer, and a Decimal is a number.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

_KINDS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float | Decimal) and not isinstance(value, bool),
}


@cache
def form_of(document: str) -> dict[str, Any]:
    """The form of a kind of document, by the name of its file. Treat it as immutable."""
    form: dict[str, Any] = json.loads((files(__package__) / f"{document}_schema.json").read_text("utf-8"))
    return form


def form_error(value: Any, document: str) -> str | None:
    """The first thing that keeps a value from having the form of a document, as a sentence."""
    errors = (
        f"{path or 'the document'} {expected}" for path, expected in schema_errors(value, form_of(document))
    )
    return next(errors, None)


def schema_errors(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each path that does not match, with the expected value; parents before members."""
    named = schema.get("type", [])
    kinds = [named] if isinstance(named, str) else named
    if kinds and not any(_KINDS[kind](value) for kind in kinds):
        yield path, f"must be of type {' or '.join(kinds)}"
    elif "const" in schema and value != schema["const"]:
        yield path, f"must be {schema['const']!r}"
    elif value is not None and "enum" in schema and value not in schema["enum"]:
        yield path, f"must be one of {', '.join(schema['enum'])}"
    elif isinstance(value, Mapping):
        yield from _object_errors(value, schema, path)
    elif isinstance(value, list):
        yield from _list_errors(value, schema, path)
    elif isinstance(value, str):
        yield from ((path, expected) for expected in _text_errors(value, schema))
    elif value is not None:
        yield from ((path, expected) for expected in _number_errors(value, schema))


def _object_errors(
    value: Mapping[str, Any], schema: Mapping[str, Any], path: str
) -> Iterator[tuple[str, str]]:
    members = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield _below(path, name), "is required"
    for name, others in schema.get("dependentRequired", {}).items():
        yield from (
            (_below(path, other), f"is required with {name}")
            for other in others
            if name in value and other not in value
        )
    for name, member in value.items():
        if name in members:
            yield from schema_errors(member, members[name], _below(path, name))
        elif not schema.get("additionalProperties", True):
            yield _below(path, name), "is not a member of this document"
        if name not in schema.get("propertyNames", {}).get("enum", value):
            yield _below(path, name), "is not a member of this form of the block"
    if "if" in schema:
        branch = "else" if any(schema_errors(value, schema["if"])) else "then"
        yield from schema_errors(value, schema.get(branch, {}), path)


def _list_errors(value: list[Any], schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    if len(value) > schema.get("maxItems", len(value)):
        yield path, f"must have at most {schema['maxItems']} items"
    if len(value) < schema.get("minItems", 0):
        yield path, f"must have at least {schema['minItems']} items"
    if "contains" in schema and schema["contains"]["const"] not in value:
        yield path, f"must include {schema['contains']['const']!r}"
    for number, item in enumerate(value):
        yield from schema_errors(item, schema.get("items", {}), f"{path}[{number}]")


def _text_errors(value: str, schema: Mapping[str, Any]) -> Iterator[str]:
    if len(value) > schema.get("maxLength", len(value)):
        yield f"must have at most {schema['maxLength']} characters"
    elif len(value) < schema.get("minLength", 0):
        yield f"must have at least {schema['minLength']} characters"
    elif "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        yield f"must match {schema['pattern']}"


def _number_errors(value: float | Decimal, schema: Mapping[str, Any]) -> Iterator[str]:
    if value < schema.get("minimum", value):
        yield f"must be at least {schema['minimum']}"
    if value > schema.get("maximum", value):
        yield f"must be at most {schema['maximum']}"


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
