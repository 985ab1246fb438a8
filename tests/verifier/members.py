"""Every single change of a member of a JSON text, also within its encoded parts: a JWS, a protected header, a text of JSON, lines.

Numbers keep their digits and members their order, so that a text without a change is written as it was.
"""

import json
from base64 import urlsafe_b64decode
from binascii import Error
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hansa_verify import encoded

ADDED = "zz"


class Object(list[tuple[str, Any]]):
    """The members of an object in their order, also one that is there twice."""


class Number(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True)
class Encoded:
    """A text that holds values: `write` makes it of them again."""

    values: list[Any]
    write: Callable[[list[str]], str]


@dataclass(frozen=True)
class Change:
    """One change: of which kind, where, and the text with it.

    `order` reverses the members of an object, `reverse` the items of a list; `<0>` is the first value within an encoded text.
    """

    kind: str
    place: str
    text: str


def changes_of(text: str) -> Iterator[Change]:
    """Every change of one member or item of the text."""
    tree = read(text)
    assert written(tree) == text, "a text without a change is written as it was"
    for kind, place, changed in _changes(tree):
        yield Change(kind, ".".join(place), written(changed))


def read(text: str) -> Any:
    """The text as a tree."""
    tree = json.loads(text, object_pairs_hook=Object, parse_int=Number, parse_float=Number)
    return _opened(tree)


def written(tree: Any) -> str:
    """The text of a tree, without blanks."""
    if isinstance(tree, Object):
        return "{" + ",".join(f"{json.dumps(name)}:{written(value)}" for name, value in tree) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(written, tree)) + "]"
    if isinstance(tree, Encoded):
        return json.dumps(tree.write([written(value) for value in tree.values]))
    return str(tree) if isinstance(tree, Number) else json.dumps(tree)


def _opened(tree: Any) -> Any:
    if isinstance(tree, Object):
        return Object((name, _opened(value)) for name, value in tree)
    if isinstance(tree, list):
        return [_opened(value) for value in tree]
    if isinstance(tree, str) and not isinstance(tree, Number):
        return next((found for found in _encodings(tree) if written(found) == json.dumps(tree)), tree)
    return tree


def _encodings(text: str) -> Iterator[Encoded]:
    """Yield the encodings that the text may have."""
    parts = text.split(".")
    if len(parts) == 3 and all(_json_in(part) for part in parts[:2]):
        header, payload = (read(_json_in(part) or "") for part in parts[:2])
        yield Encoded([header, payload, parts[2]], _as_jws)
    if whole := _json_in(text):
        yield Encoded([read(whole)], lambda values: encoded(values[0].encode()))
    if text.startswith("{"):
        yield Encoded([read(text)], lambda values: values[0])
    if "\n" in text:
        yield Encoded([text.split("\n")], lambda values: "\n".join(map(str, json.loads(values[0]))))


def _as_jws(values: list[str]) -> str:
    header, payload, signature = values
    return ".".join((encoded(header.encode()), encoded(payload.encode()), str(json.loads(signature))))


def _json_in(text: str) -> str | None:
    """The object that a text has in base64url."""
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (Error, ValueError):
        return None
    return found if found.startswith("{") else None


Found = tuple[str, tuple[str, ...], Any]


def _changes(tree: Any) -> Iterator[Found]:
    if isinstance(tree, Encoded):
        for index, value in enumerate(tree.values):
            for kind, place, changed in _changed(value):
                values = [*tree.values[:index], changed, *tree.values[index + 1 :]]
                yield kind, (f"<{index}>", *place), Encoded(values, tree.write)
    elif isinstance(tree, Object):
        yield from _changes_of_members(tree)
    elif isinstance(tree, list):
        yield from _changes_of_items(tree)


def _changes_of_members(tree: Object) -> Iterator[Found]:
    yield "add", (ADDED,), Object([*tree, (ADDED, Number("1"))])
    if len(tree) > 1:
        yield "order", (), Object(tree[::-1])
    for index, (name, value) in enumerate(tree):
        before, after = tree[:index], tree[index + 1 :]
        yield "drop", (name,), Object([*before, *after])
        yield "twice", (name,), Object([*tree, (name, value)])
        for kind, place, changed in _changed(value):
            yield kind, (name, *place), Object([*before, (name, changed), *after])


def _changes_of_items(tree: list[Any]) -> Iterator[Found]:
    yield "add", (str(len(tree)),), [*tree, tree[-1] if tree else "x"]
    if tree != tree[::-1]:
        yield "reverse", (), tree[::-1]
    for index, value in enumerate(tree):
        before, after = tree[:index], tree[index + 1 :]
        yield "drop", (str(index),), [*before, *after]
        yield "twice", (str(index),), [*before, value, value, *after]
        for kind, place, changed in _changed(value):
            yield kind, (str(index), *place), [*before, changed, *after]


def _changed(value: Any) -> Iterator[Found]:
    """The value in another type, as another value, and each change within it."""
    if isinstance(value, Object | list):
        yield "type", (), [value] if isinstance(value, Object) else Object()
    elif isinstance(value, Number):
        yield "type", (), str(value)
        yield "value", (), Number(int(value) + 1 if value.lstrip("-").isdigit() else "7")
    elif isinstance(value, bool):
        yield "type", (), Number(int(value))
        yield "value", (), not value
    elif value is None:
        yield "type", (), "null"
        yield "value", (), Number("0")
    else:
        text = json.loads(written(value))
        yield "type", (), Number("1")
        middle = len(text) // 2
        yield (
            "value",
            (),
            text[:middle] + ("B" if text[middle : middle + 1] == "A" else "A") + text[middle + 1 :],
        )
    yield from _changes(value)
