"""Decimals of requests: digits with an optional fraction as a text, without sign and exponent, in every schema alike.

A JSON number is accepted only where the specification allows one, and counts there by its value, digit for digit.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, get_args

import pytest
from fastapi import FastAPI
from pydantic import BaseModel, TypeAdapter, ValidationError

from hansa.doors.reference_map import empty_app, entrances
from hansa.foundation.values.money import AMOUNT_MAX_UNITS

# Specification 4 (staking and the budgets of capabilities).
TAKE_NUMBERS = {
    "StakeIn.amount",
    "UnstakeIn.amount",
    "CaveatsIn.max_per_tx",
    "NarrowerCaveatsIn.max_per_tx",
    "CapabilityIn.budget_total",
    "AttenuationIn.budget_total",
    "ConsumptionIn.amount",
}
# Specification 6: an authorization of a decimal that is not above zero is a 400 of its own.
TAKE_A_SIGN = {"AuthorizeIn.amount"}

NO_DECIMALS = [
    *(
        "1e3",
        "1E3",
        "1e-3",
        "0.1e2",
        "1e+3",
        "+1",
        "+0",
        "-1",
        "-0",
        "--1",
        "1.",
        ".5",
        ".",
        "",
        " 1",
        "1 ",
        "1\n",
        "\t1",
    ),
    *(
        "1_0",
        "1,5",
        "1.2.3",
        "0x10",
        "1f",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "inf",
        "\u0661",
        "\uff11",
        "1\u00a0",
        "1\x00",
    ),
    *("1.1234567890123456789", "9999999999999"),
]
NUMBERS = [1, 0, -1, 1.5, -0.0, 1e3, Decimal("1E+3"), Decimal("1.5"), Decimal("-1E+3"), True]


class Member:
    """A member of a request that holds a decimal."""

    def __init__(self, model: type[BaseModel], name: str) -> None:
        self.name = f"{model.__name__}.{name}"
        field = model.model_fields[name]
        self._adapter: TypeAdapter[Any] = TypeAdapter(Annotated[(field.annotation, field)])

    def takes(self, value: object) -> bool:
        try:
            self._adapter.validate_python(value)
        except ValidationError:
            return False
        return True


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _reached(bodies: list[Any]) -> set[type[BaseModel]]:
    waiting = [model for body in bodies if body is not None for model in _models(body.field_info.annotation)]
    reached: set[type[BaseModel]] = set()
    while waiting:
        model = waiting.pop()
        if model not in reached:
            reached.add(model)
            waiting += [one for field in model.model_fields.values() for one in _models(field.annotation)]
    return reached


def _kinds(schema: Any) -> Iterator[dict[str, Any]]:
    """The alternatives of a member itself, without the members of its own."""
    yield schema
    for word in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(word, ()):
            yield from _kinds(one)


def _is_decimal(schema: dict[str, Any]) -> bool:
    pattern = schema.get("pattern", "")
    return re.match(r"\^(-\?)?\[0-9\]\{1,\d+\}\(\\\.\[0-9\]", pattern) is not None


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return empty_app(tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def schemas(app: FastAPI) -> dict[type[BaseModel], dict[str, Any]]:
    bodies = [entrance.context.body_field for entrance in entrances(app)]
    return {model: model.model_json_schema() for model in _reached(bodies)}


@pytest.fixture(scope="module")
def members(schemas: dict[type[BaseModel], dict[str, Any]]) -> dict[str, Member]:
    found = [
        Member(model, name)
        for model, schema in schemas.items()
        for name, member in schema.get("properties", {}).items()
        if name in model.model_fields and any(map(_is_decimal, _kinds(member)))
    ]
    return {member.name: member for member in found}


def test_the_decimals_of_requests_are_found(members: dict[str, Member]):
    assert len(members) >= 30
    assert {"TransferIn.amount", "ContractIn.amount", "StakeIn.amount"} <= set(members)
    assert set(members) >= TAKE_NUMBERS
    assert set(members) >= TAKE_A_SIGN
    assert [name for name, member in members.items() if not member.takes("12.5")] == []


def test_no_text_with_a_sign_an_exponent_or_other_digits_is_a_decimal(members: dict[str, Member]):
    taken = {(name, text) for name, member in members.items() for text in NO_DECIMALS if member.takes(text)}
    assert taken == {(name, text) for name in TAKE_A_SIGN for text in ("-1", "-0")}


def test_a_json_number_is_a_decimal_only_where_the_specification_allows_one(members: dict[str, Member]):
    taken = {name for name, member in members.items() if any(map(member.takes, NUMBERS))}
    assert taken == TAKE_NUMBERS
    for name in TAKE_NUMBERS:
        member = members[name]
        assert all(map(member.takes, [1, Decimal("1E+3"), Decimal("1.5"), AMOUNT_MAX_UNITS])), name
        refused = [
            0,
            -1,
            True,
            Decimal("-1E+3"),
            Decimal("0.000000001"),
            Decimal("1E+11"),
            AMOUNT_MAX_UNITS + 1,
        ]
        assert not any(map(member.takes, refused)), name


def test_no_other_member_of_a_request_is_a_number_with_a_fraction(
    schemas: dict[type[BaseModel], dict[str, Any]],
):
    fractions = {
        f"{model.__name__}.{name}"
        for model, schema in schemas.items()
        for name, member in schema.get("properties", {}).items()
        if any(kind.get("type") == "number" for kind in _kinds(member))
    }
    assert fractions == TAKE_NUMBERS
