"""References in requests to the input and to outputs of steps; expanded once, without code.

A reference is a JSON Pointer (RFC 6901) below `/input` or `/steps/<id>/output`: as `{"$ref": pointer}` in the place of any value, or as
`{{pointer}}` in a text. A text that was inserted is not read again.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

REF = "$ref"
EXPANDED_MAX_CHARACTERS = 1024 * 1024
_IN_TEXT = re.compile(r"\{\{\s*(/[^{}\s]*)\s*\}\}")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_STEP = re.compile(r"/steps/([^/]+)/output(?:/|$)")


class ReferenceAbsent(Exception):
    """Nothing stands at a reference; the first argument is the pointer."""


class ExpandedTooLarge(Exception):
    """A request is too large once its references are expanded."""


def references_in(value: Any) -> Iterator[Any]:
    """Each reference in a value, as it is written: not every one is a pointer, or a text."""
    if isinstance(value, str):
        yield from _IN_TEXT.findall(value)
    elif isinstance(value, dict):
        if REF in value:
            yield value[REF] if len(value) == 1 else value
        else:
            for member in value.values():
                yield from references_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from references_in(member)


def step_of(reference: str) -> str | None:
    """The step whose output a reference names; None for one to the input. Raises: ValueError, for any other text."""
    if reference == "/input" or reference.startswith("/input/"):
        return None
    if (named := _STEP.match(reference)) is None:
        raise ValueError
    return named[1]


def resolve(reference: str, root: Any) -> Any:
    """The value at a JSON Pointer. Raises: ReferenceAbsent."""
    found = root
    for token in reference.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and _INDEX.fullmatch(name) and int(name) < len(found):
            found = found[int(name)]
        else:
            raise ReferenceAbsent(reference)
    return found


def expand(value: Any, root: Any) -> Any:
    """The value with each reference replaced by what stands there. Raises: ReferenceAbsent, ExpandedTooLarge."""
    return _Expansion(root).of(value)


class _Expansion:
    """One expansion, which ends before it inserts more characters than a request may have."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = EXPANDED_MAX_CHARACTERS
        self._found: dict[str, tuple[Any, str]] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            return _IN_TEXT.sub(lambda named: self._insert(named[1])[1], value)
        if isinstance(value, dict):
            if len(value) == 1 and isinstance(value.get(REF), str):
                return self._insert(value[REF])[0]
            return {name: self.of(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.of(member) for member in value]
        return value

    def _insert(self, reference: str) -> tuple[Any, str]:
        if reference not in self._found:
            found = resolve(reference, self._root)
            self._found[reference] = found, found if isinstance(found, str) else json.dumps(found)
        self._left -= len(self._found[reference][1])
        if self._left < 0:
            raise ExpandedTooLarge
        return self._found[reference]


def names_of_input(values: Iterable[Any]) -> list[str]:
    """The members of the input that these values name, in the order of the first mention."""
    names: dict[str, None] = {}
    for value in values:
        for reference in references_in(value):
            if isinstance(reference, str) and reference.startswith("/input/"):
                names[reference.split("/")[2].replace("~1", "/").replace("~0", "~")] = None
    return list(names)
