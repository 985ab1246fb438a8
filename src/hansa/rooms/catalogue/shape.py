"""Where a card must hold objects and lists, and how its members are spelled.

The official reader is lenient here: it takes a list for an object, and two spellings of one member. Other readers do
not, so a card that is handed out must be strict.
"""

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from .limits import Trouble

FREE_FORM = "google.protobuf.Struct"


def shape_troubles(value: Any, message: Descriptor, path: str = "") -> Iterator[Trouble]:
    """Members that A2A knows as objects and that are something else, or that are spelled in snake_case."""
    if not isinstance(value, dict):
        yield Trouble(path, "This member is an object.")
        return
    for field in message.fields:
        if field.name != field.json_name and field.name in value:
            yield Trouble(_below(path, field.name), f"This member is written {field.json_name}.")
        if value.get(field.json_name) is not None:
            yield from _member_troubles(value[field.json_name], field, _below(path, field.json_name))


def wire_name(field: str) -> str:
    """A path of the official types as it is written on the wire."""
    return ".".join(
        first + "".join(word.capitalize() for word in rest)
        for first, *rest in (part.split("_") for part in field.split("."))
    )


def _member_troubles(value: Any, field: FieldDescriptor, path: str) -> Iterator[Trouble]:
    message: Descriptor | None = field.message_type
    if message is None or message.full_name == FREE_FORM:
        return
    if message.GetOptions().map_entry:
        inner: Descriptor | None = message.fields_by_name["value"].message_type
        if not isinstance(value, dict):
            yield Trouble(path, "This member is an object.")
        elif inner is not None:
            for name, member in value.items():
                yield from shape_troubles(member, inner, f"{path}[{name}]")
    elif not field.is_repeated:
        yield from shape_troubles(value, message, path)
    elif not isinstance(value, list):
        yield Trouble(path, "This member is a list.")
    else:
        for position, item in enumerate(value):
            yield from shape_troubles(item, message, f"{path}[{position}]")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
