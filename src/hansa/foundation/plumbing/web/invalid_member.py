"""Name of the invalid member of a request, as its sender wrote it: without names of models, unions or validators."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi.exceptions import RequestValidationError

# How pydantic says that something is not an object, in words of its own.
NOT_AN_OBJECT = {"model_type", "model_attributes_type", "dict_type"}
SHOWN_MAX_CHARACTERS = 500


class InvalidMember(NamedTuple):
    """The first invalid member of a request; `field` is its path, or the place where the whole of it is wrong."""

    field: str
    message: str

    @classmethod
    def of(cls, failure: RequestValidationError) -> "InvalidMember":
        """The first error among those that the validation found."""
        first = failure.errors()[0]
        place, *path = first["loc"]
        is_missing = first["type"] == "missing"
        named = _members(path, failure.body, is_missing=is_missing) if place == "body" else path[:1]
        field = ".".join(str(part) for part in named) or str(place)
        is_no_object = first["type"] in NOT_AN_OBJECT
        message = "Input should be an object" if is_no_object else str(first["msg"])
        return cls(_printable(field), _printable(f"{field}: {without_type(message)}"))


def without_type(message: str) -> str:
    """Return the expectation in a message of pydantic, without the type that the member has in the code."""
    return message.removeprefix("Value error, ").removeprefix("String should have ")


def _members(path: Sequence[Any], value: Any, *, is_missing: bool) -> Iterator[Any]:
    """The parts of `path` that are in the body. Between them pydantic names the branch of a union that it tried."""
    for index, part in enumerate(path):
        if (isinstance(value, Mapping) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        ):
            value = value[part]
        elif not (is_missing and index == len(path) - 1):
            continue
        yield part


def _printable(text: str) -> str:
    """Return the text with `?` for unprintable characters: some messages and names quote the request, line breaks and all."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:SHOWN_MAX_CHARACTERS]
