"""Request bodies in which null means absent.

Many clients send every member they know and write null where they have no value. So an optional member takes null
everywhere. A member whose own type takes null (`X | None`) is left alone: there null is its default, or has a meaning that
its description states. A boolean that decides a movement of units (`MovesUnits`) refuses null: units move by true or false.
"""

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel, GetJsonSchemaHandler, StrictBool, model_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hansa.foundation.values.lazy_model import LazyModel

# What stays beside `anyOf` when a member's schema is widened by null.
ANNOTATIONS = {"title", "description", "default", "examples"}


class NullRefused:
    """Mark of an optional member for which null is refused."""


MovesUnits = Annotated[StrictBool, NullRefused()]
"""A boolean that decides whether, or how many, units move."""


class RequestBody(LazyModel):
    """A body, or an object in one: null for an optional member is the same as leaving it out."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, members: Any) -> Any:
        if not isinstance(members, dict) or None not in members.values():
            return members
        names = _names_where_null_is_absent(cls)
        return {name: value for name, value in members.items() if value is not None or name not in names}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler(schema)
        properties = handler.resolve_ref_schema(described).get("properties", {})
        for name in _names_where_null_is_absent(cls) & properties.keys():
            properties[name] = _or_null(properties[name])
        return described


@cache
def _names_where_null_is_absent(model: type[BaseModel]) -> frozenset[str]:
    by_name = bool(model.model_config.get("validate_by_name"))
    return frozenset(
        alias
        for name, field in model.model_fields.items()
        if not field.is_required() and not _takes_null(field.annotation) and not refuses_null(field)
        for alias in _names(name, field, by_name=by_name)
    )


def refuses_null(field: FieldInfo) -> bool:
    """The member is marked by `NullRefused`."""
    return any(isinstance(mark, NullRefused) for mark in field.metadata)


def _takes_null(hint: Any) -> bool:
    if hint is Any or hint is NoneType:
        return True
    origin = get_origin(hint)
    if origin is Annotated:
        return _takes_null(get_args(hint)[0])
    return origin in {Union, UnionType} and any(_takes_null(member) for member in get_args(hint))


def _names(name: str, field: FieldInfo, *, by_name: bool) -> set[str]:
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        return {choice for choice in alias.choices if isinstance(choice, str)}
    aliases = {alias} if isinstance(alias, str) else {name}
    return aliases | {name} if by_name else aliases


def _or_null(schema: JsonSchemaValue) -> JsonSchemaValue:
    # Generators of clients cannot write an object as a default; it is an empty one.
    stored = {
        name: value
        for name, value in schema.items()
        if name in ANNOTATIONS and not (name == "default" and isinstance(value, dict))
    }
    bare = {name: value for name, value in schema.items() if name not in ANNOTATIONS}
    return {"anyOf": [bare, {"type": "null"}], **stored}
