"""The strict JSON Schema (draft 2020-12) of the registry card, computed from the table of its paths.

Besides the keywords of the draft it has two annotations: `x-signed` for the members that the signature covers, and `readOnly`
for those that an operator cannot write.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from .card_paths import CARD_PATHS, EDITABLE, EDITABLE_BLOCKS, NULLABLE, OPEN, REQUIRED, CardPath

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ITEMS = "[]"


@cache
def card_schema() -> dict[str, Any]:
    """The schema of a whole card. Treat it as immutable."""
    schema = _object(_rooted(CARD_PATHS), is_open=False)
    return {"$schema": DIALECT, "title": "Registry card, version 0.6", **schema}


@cache
def editing_schema() -> dict[str, Any]:
    """Return the schema of the blocks that an operator writes, each of which may be null to remove it."""
    whole = _object(_rooted(row for row in CARD_PATHS if row.marks & EDITABLE), is_open=False)
    for name in EDITABLE_BLOCKS:
        block = whole["properties"][name]
        whole["properties"][name] = {**block, "type": [block["type"], "null"]}
    return whole


def published_schema(address: str) -> dict[str, Any]:
    """The schema of a whole card as it is served at `address`."""
    return {"$id": address, **card_schema()}


def _rooted(rows: Iterable[CardPath]) -> dict[str, CardPath]:
    return {row.path: row for row in rows}


def _object(rows: dict[str, CardPath], *, is_open: bool, prefix: str = "") -> dict[str, Any]:
    members = [path for path in rows if _is_member(path, prefix)]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {path.removeprefix(prefix): _value(rows, rows[path]) for path in members},
        "additionalProperties": is_open,
    }
    required = [path.removeprefix(prefix) for path in members if rows[path].marks & REQUIRED]
    return {**schema, "required": required} if required else schema


def _is_member(path: str, prefix: str) -> bool:
    rest = path.removeprefix(prefix)
    return path.startswith(prefix) and "." not in rest and not rest.endswith(ITEMS)


def _value(rows: dict[str, CardPath], row: CardPath) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": row.kind}
    if row.kind == "object":
        schema = _object(rows, is_open=bool(row.marks & OPEN), prefix=f"{row.path}.")
    elif row.kind == "array":
        schema["items"] = _items(rows, row.path + ITEMS)
    schema |= row.limits
    if row.marks & NULLABLE:
        schema["type"] = [row.kind, "null"]
    if row.is_signed:
        schema["x-signed"] = True
    if not row.marks & EDITABLE:
        schema["readOnly"] = True
    return schema


def _items(rows: dict[str, CardPath], path: str) -> dict[str, Any]:
    if path in rows:
        return _value(rows, rows[path])
    return _object(rows, is_open=False, prefix=f"{path}.")
