"""Members of a card that must be objects, lists or texts, and their spelling.

The official reader is lenient here: it takes a list for an object, and two spellings of one member. Other readers do
not, so a card that is served must be strict. And where the official reader gives up it does not say where.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.api.field_behavior_pb2 import FieldBehavior, field_behavior
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from .limits import ROOT, Trouble, below, item

FREE_FORM = "google.protobuf.Struct"
SCALARS: dict[int, tuple[type[object], str]] = {
    FieldDescriptor.TYPE_STRING: (str, "This member is a text."),
    FieldDescriptor.TYPE_BOOL: (bool, "This member is true or false."),
}


class _Inner(NamedTuple):
    """A value within a member, and the message that it must be; None for a scalar or an object of any form."""

    path: str
    value: Any
    message: Descriptor | None


def shape_troubles(value: Any, message: Descriptor, path: str = ROOT) -> Iterator[Trouble]:
    """Members of another kind than A2A knows them, or that are spelled in snake_case."""
    if not isinstance(value, dict):
        yield Trouble(path, "This member is an object.")
        return
    for field in message.fields:
        if field.name != field.json_name and field.name in value:
            yield Trouble(below(path, field.name), f"This member is written {field.json_name}.")
        if value.get(field.json_name) is not None:
            yield from _member_troubles(value[field.json_name], field, below(path, field.json_name))


def missing_troubles(value: Any, message: Descriptor, path: str = ROOT) -> Iterator[Trouble]:
    """Members that A2A requires and that are missing or empty."""
    if not isinstance(value, dict):
        return
    for field in message.fields:
        member, here = value.get(field.json_name), below(path, field.json_name)
        if _is_required(field) and (member is None or member == "" or (field.is_repeated and not member)):
            yield Trouble(here, "This member is required, and not empty.")
        elif member is not None and _is_of_kind(member, field):
            for inner in _inner(member, field, here):
                if inner.message is not None:
                    yield from missing_troubles(inner.value, inner.message, inner.path)


def wire_name(field: str) -> str:
    """A path of the official types as it is written on the wire."""
    return below(
        ROOT,
        ".".join(
            first + "".join(word.capitalize() for word in rest)
            for first, *rest in (part.split("_") for part in field.split("."))
        ),
        verbatim=True,
    )


def _member_troubles(value: Any, field: FieldDescriptor, path: str) -> Iterator[Trouble]:
    if not _is_of_kind(value, field):
        yield Trouble(
            path, "This member is an object." if _meant_by_names(field) else "This member is a list."
        )
        return
    kind = _meant_by_names(field) or field
    for inner in _inner(value, field, path):
        if inner.message is not None:
            yield from shape_troubles(inner.value, inner.message, inner.path)
        elif kind.type in SCALARS and not isinstance(inner.value, SCALARS[kind.type][0]):
            yield Trouble(inner.path, SCALARS[kind.type][1])


def _inner(member: Any, field: FieldDescriptor, path: str) -> Iterator[_Inner]:
    """Yield the values that a member of the right kind holds: itself, its items, or the values under its names."""
    if meant := _meant_by_names(field):
        for name, value in member.items():
            yield _Inner(below(path, name), value, _message_of(meant))
    elif field.is_repeated:
        for position, value in enumerate(member):
            yield _Inner(item(path, position), value, _message_of(field))
    else:
        yield _Inner(path, member, _message_of(field))


def _is_of_kind(member: Any, field: FieldDescriptor) -> bool:
    if _meant_by_names(field):
        return isinstance(member, dict)
    return not field.is_repeated or isinstance(member, list)


def _meant_by_names(field: FieldDescriptor) -> FieldDescriptor | None:
    """Return the field of the values under the names of a member, where its names are free; None where they are not."""
    entry: Descriptor | None = field.message_type
    return entry.fields_by_name["value"] if entry is not None and entry.GetOptions().map_entry else None


def _message_of(field: FieldDescriptor) -> Descriptor | None:
    message: Descriptor | None = field.message_type
    return None if message is None or message.full_name == FREE_FORM else message


def _is_required(field: FieldDescriptor) -> bool:
    return FieldBehavior.REQUIRED in field.GetOptions().Extensions[field_behavior]
