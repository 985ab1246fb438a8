"""The JSON Schema of each event's data, generated from its class."""

import inspect
import json
from typing import Any

import msgspec

from hansa.foundation.events.base import Event

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def event_schema(kind: type[Event]) -> dict[str, Any]:
    """The schema of the `data` of events of this type. Later versions may add members, and take none away.

    Members that public readings leave out are optional.
    """
    name = kind.__name__
    _, parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    whole = parts.pop(name)
    named = {"$schema": DIALECT, "$id": f"urn:hansa:event:{name}", "title": name}
    for part in (whole, *parts.values()):
        part["description"] = inspect.cleandoc(part["description"])
    for path in kind.withheld:
        *nested, member = path.split(".")
        for part in (parts[_item_of(whole, nested[0])],) if nested else (whole,):
            part["required"] = [name for name in part["required"] if name != member]
    return {**named, **whole, **({"$defs": parts} if parts else {})}


def _item_of(whole: dict[str, Any], member: str) -> str:
    """The name of the definition of which `member` is a list."""
    reference: str = whole["properties"][member]["items"]["$ref"]
    return reference.rpartition("/")[2]


def schema_file(kind: type[Event]) -> str:
    """The schema as it is kept in docs/events."""
    return json.dumps(event_schema(kind), indent=2, ensure_ascii=False) + "\n"
