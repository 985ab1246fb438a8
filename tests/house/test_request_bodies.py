"""Every request body takes null for an optional member."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from pydantic import AliasChoices, BaseModel, Field, StrictBool, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from hansa.doors.reference_map import empty_app, entrances
from hansa.foundation.values.request_body import MovesUnits, RequestBody, refuses_null

SOURCES = Path(__file__).parents[2] / "src" / "hansa"
TEACHING = "An optional member takes null: derive these from hansa.foundation.values.request_body.RequestBody"


def models_in(hint: Any) -> Iterator[type[BaseModel]]:
    """The models that a type consists of, their members included."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
        for field in hint.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(hint):
        yield from models_in(part)


def members_without_null(models: set[type[BaseModel]]) -> list[str]:
    """The optional members for which null is refused, by the model or by its published schema."""
    return sorted(
        f"{model.__name__}.{name}"
        for model in models
        for name, field in model.model_fields.items()
        if not field.is_required() and not refuses_null(field)
        if not takes_null(model, alias_of(name, field)) or not publishes_null(model, alias_of(name, field))
    )


def lax_booleans(models: set[type[BaseModel]]) -> list[str]:
    """The boolean members that take a text or a number for true or false."""
    return sorted(
        f"{model.__name__}.{name}"
        for model in models
        for name, field in model.model_fields.items()
        if is_boolean(field.annotation)
        if any(is_taken(field, value) for value in ("no", "false", "1", 0, 1, 1.0))
    )


def is_boolean(hint: Any) -> bool:
    return hint is bool or any(is_boolean(part) for part in get_args(hint))


def is_taken(field: FieldInfo, value: Any) -> bool:
    try:
        found = TypeAdapter(Annotated[field.annotation, None, *field.metadata]).validate_python(value)
    except ValidationError:
        return False
    # A member that is a text or a number as well keeps it as it is.
    return isinstance(found, bool)


def alias_of(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    return str(alias.choices[0] if isinstance(alias, AliasChoices) else alias or name)


def takes_null(model: type[BaseModel], member: str) -> bool:
    try:
        model.model_validate({member: None})
    except ValidationError as failure:
        return all(error["loc"][:1] != (member,) for error in failure.errors())
    return True


def publishes_null(model: type[BaseModel], member: str) -> bool:
    schema = TypeAdapter(model).json_schema()["properties"][member]
    branches = schema.get("anyOf", [schema])
    return any(branch.get("type", "null") == "null" and "$ref" not in branch for branch in branches)


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> set[type[BaseModel]]:
    house: Path = tmp_path_factory.mktemp("house")
    return {
        model
        for entrance in entrances(empty_app(house))
        for parameter in entrance.context.dependant.body_params
        for model in models_in(parameter.field_info.annotation)
    }


def test_an_optional_member_of_a_request_body_takes_null(bodies: set[type[BaseModel]]):
    assert len(bodies) > 40
    assert members_without_null(bodies) == [], TEACHING


def test_a_boolean_of_a_request_body_is_true_or_false(bodies: set[type[BaseModel]]):
    assert lax_booleans(bodies) == [], (
        "write StrictBool, or MovesUnits where the member decides a movement of units"
    )


def test_a_boolean_that_takes_a_text_is_seen():
    class Inner(BaseModel):
        lax: bool | None = None
        strict: StrictBool | None = None

    class Outer(BaseModel):
        inner: list[Inner]
        lax: Annotated[bool, Field(description="Lax.")] = False
        strict: Annotated[StrictBool, Field(description="Strict.")] = False

    assert lax_booleans(set(models_in(Outer))) == ["Inner.lax", "Outer.lax"]


def test_a_boolean_that_moves_units_refuses_null():
    class Order(RequestBody):
        dry_run: MovesUnits = False

    assert Order.model_validate({}).dry_run is False
    for value in (None, "no", 0):
        with pytest.raises(ValidationError):
            Order.model_validate({"dry_run": value})


def test_a_member_that_refuses_null_is_seen():
    class Inner(BaseModel):
        flag: bool = False

    class Outer(BaseModel):
        inner: list[Inner] | None = None
        count: int = Field(default=1, validation_alias=AliasChoices("count", "number"))
        needed: int

    assert members_without_null(set(models_in(Outer))) == ["Inner.flag", "Outer.count"]


def test_null_for_an_optional_member_is_the_same_as_leaving_it_out():
    class Inner(RequestBody):
        flag: bool = True

    class Outer(RequestBody):
        inner: Inner = Inner()
        count: int = Field(default=1, ge=1, validation_alias=AliasChoices("count", "number"))
        ends_after: int | None = 30
        needed: int

    absent = Outer.model_validate({"needed": 1})
    for members in ({"inner": None, "count": None}, {"inner": {"flag": None}, "number": None}):
        assert Outer.model_validate({"needed": 1, **members}) == absent
    assert Outer.model_validate({"needed": 1, "ends_after": None}).ends_after is None
    with pytest.raises(ValidationError):
        Outer.model_validate({"needed": None})
    assert members_without_null(set(models_in(Outer))) == []


def test_every_model_is_built_when_it_is_first_used():
    sources = ((path, path.read_text()) for path in SOURCES.rglob("*.py") if path.name != "lazy_model.py")
    eager = [
        str(path.relative_to(SOURCES))
        for path, text in sources
        if re.search(r"class [^:]*\bBaseModel\b", text)
    ]
    assert not eager, "derive these models from hansa.foundation.values.lazy_model.LazyModel"
