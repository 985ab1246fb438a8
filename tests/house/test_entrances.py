"""Every operation declares its credentials and its answers, and has its row in the table of rights."""

from typing import Annotated

import pytest
from fastapi import Depends, FastAPI
from pydantic import BaseModel

from hansa.doors.reference_map import CALLERS, Entrance, empty_app, entrances
from hansa.foundation.plumbing.web.caller import (
    CurrentAgent,
    CurrentDeveloper,
    Public,
    agent_holding,
    anyone_or_observer,
    developer_caller_if_any,
    internal_caller,
)
from tests.house.rights import KINDS, read_rights


class Answer(BaseModel):
    ok: bool


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return empty_app(tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def house(app: FastAPI) -> list[Entrance]:
    return entrances(app)


def undecided(found: list[Entrance]) -> list[str]:
    """Operations that do not name exactly one caller."""
    return [f"{entrance.method} {entrance.path}" for entrance in found if len(entrance.callers) != 1]


def shapeless(found: list[Entrance]) -> list[str]:
    """Operations in the description with neither a response model nor a documented media type."""
    return [
        f"{entrance.method} {entrance.path}"
        for entrance in found
        if entrance.context.include_in_schema
        and entrance.context.response_model is None
        and entrance.context.status_code != 204
        and not any(
            "content" in response
            for status, response in entrance.context.responses.items()
            if str(status).startswith("2")
        )
    ]


def test_every_operation_says_who_may_enter(house: list[Entrance]):
    assert undecided(house) == []


def test_an_operation_with_no_caller_or_two_is_seen():
    app = FastAPI()

    @app.get("/none")
    async def nobody() -> Answer: ...

    @app.get("/two")
    async def two(_: Public, agent: CurrentAgent) -> Answer: ...

    @app.get("/one")
    async def one(agent: Annotated[object, agent_holding("teg.transfer")]) -> Answer: ...

    assert undecided(entrances(app)) == ["GET /none", "GET /two"]


def test_every_operation_says_what_it_answers(house: list[Entrance]):
    assert shapeless(house) == []


def test_an_operation_without_a_shape_is_seen():
    app = FastAPI()

    @app.get("/shapeless", response_model=None)
    async def shapeless_answer(_: CurrentDeveloper): ...

    @app.get("/text", response_model=None, responses={200: {"content": {"text/plain": {}}}})
    async def text(_: Annotated[None, Depends(lambda: None)]): ...

    assert shapeless(entrances(app)) == ["GET /shapeless"]


def test_a_credential_that_may_be_missing_is_described_as_optional(app: FastAPI, house: list[Entrance]):
    described = app.openapi()["paths"]
    optional = {
        (entrance.path, entrance.method.lower())
        for entrance in house
        if entrance.callers[0].startswith((CALLERS[developer_caller_if_any], CALLERS[anyone_or_observer]))
        and entrance.context.include_in_schema
    }
    assert optional
    assert {
        (path, method)
        for path, operations in described.items()
        for method, operation in operations.items()
        if {} in operation.get("security", [])
    } == optional


def test_a_route_for_services_is_described_with_each_of_its_three_credentials(
    app: FastAPI, house: list[Entrance]
):
    described = app.openapi()
    internal = [entrance for entrance in house if entrance.callers == (CALLERS[internal_caller],)]
    assert len(internal) == 4
    for entrance in internal:
        operation = described["paths"][entrance.path][entrance.method.lower()]
        assert operation["security"] == [{"InternalKey": []}, {"FederationLicence": []}, {"MutualTLS": []}]
    assert described["components"]["securitySchemes"]["MutualTLS"]["type"] == "mutualTLS"


def test_every_operation_has_its_row_in_the_table_of_rights(house: list[Entrance]):
    served = {f"{entrance.method} {entrance.path}" for entrance in house}
    judged = [row.operation for row in read_rights()]
    rows = set(judged)
    assert len(judged) == len(rows), "tests/house/rights.toml judges an operation twice"
    assert served - rows == set(), "tests/house/rights.toml lacks these operations"
    assert rows - served == set(), "tests/house/rights.toml speaks of operations that are not served"


def test_every_row_of_the_table_of_rights_judges_every_kind_of_credential():
    assert [row.operation for row in read_rights() if set(row.expected) != set(KINDS)] == []
