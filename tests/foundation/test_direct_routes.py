"""A direct route answers as an ordinary one, whatever it is sent."""

from collections.abc import Callable
from typing import Annotated, Any

import httpx2
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from hansa.doors.http import problems
from hansa.doors.http.app import service_routes
from hansa.doors.http.guard import RequestGuard
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import compared_agent_caller
from hansa.foundation.plumbing.web.direct import DirectRoute, direct_handlers, direct_members, direct_trees
from hansa.foundation.values.errors import Forbidden
from tests.registry import TestRegistry


class Order(BaseModel):
    to: Annotated[str, Field(min_length=1)]
    amount: Annotated[str, Field(strict=True, pattern=r"^\d+$")]


async def found_in(request: Request) -> str:
    return request.headers.get("x-who", "nobody")


async def greeted(who: Annotated[str, Depends(found_in)]) -> str:
    return f"hello {who}"


async def order(
    body: Order,
    greeting: Annotated[str, Depends(greeted)],
    key: Annotated[str | None, Header(alias="Some-Key", pattern=r"^[a-z]{1,5}$")] = None,
) -> Response:
    return JSONResponse({"to": body.to, "amount": body.amount, "greeting": greeting, "key": key})


class Answer(BaseModel):
    limit: int
    who: str


async def look(
    who: Annotated[str, Depends(found_in)],
    limit: Annotated[int, Query(ge=1, le=9)] = 5,
) -> Answer:
    return Answer(limit=limit, who=who)


class Looked(BaseModel):
    word: Annotated[str, Field(min_length=2)]
    often: bool = False
    limit: Annotated[int, Field(ge=1, le=9)] = 5


async def look_by_model(query: Annotated[Looked, Query()]) -> Looked:
    return query


async def never_ada(request: Request) -> None:
    if request.headers.get("x-who") == "Ada":
        raise Forbidden


REQUESTS = [
    {"json": {"to": "a", "amount": "1"}},
    {"json": {"to": "a", "amount": "1", "more": 2}, "headers": {"x-who": "Ada", "some-key": "abc"}},
    {"json": {"to": "a", "amount": "1"}, "headers": {"some-key": "ABC"}},
    {"json": {"to": "a", "amount": "1"}, "headers": {"some-key": ""}},
    {"json": {"to": "", "amount": "1"}},
    {"json": {"to": "a", "amount": 1}},
    {"json": {"to": "a"}},
    {"json": {"to": ["a"], "amount": None}},
    {"json": []},
    {"json": "text"},
    {"json": None},
    {},
    {"content": b"{", "headers": {"content-type": "application/json"}},
    {"content": b'{"to":"a","to":"b","amount":"1"}', "headers": {"content-type": "application/json"}},
    {"content": b'{"to":"a","amount":"1"}', "headers": {"content-type": "text/plain"}},
    {"content": b'{"to":"a","amount":"1"}', "headers": {"content-type": "application/merge+json"}},
    {"content": b"[" * 100, "headers": {"content-type": "application/json"}},
]


@pytest.mark.parametrize("number", range(len(REQUESTS)))
async def test_a_direct_route_answers_as_an_ordinary_one(registry: TestRegistry, number: int) -> None:
    app = FastAPI()
    app.state.runtime = registry.runtime
    problems.install(app)
    for path, kind in (("/ordinary", GuardedRoute), ("/direct", DirectRoute)):
        router = APIRouter(route_class=kind)
        router.post(path, response_model=Order)(order)
        app.include_router(router)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://registry.test"
    ) as http:
        ordinary = await http.post("/ordinary", **REQUESTS[number])
        direct = await http.post("/direct", **REQUESTS[number])
    assert direct.status_code == ordinary.status_code
    assert direct.text.replace("/direct", "/ordinary") == ordinary.text


@pytest.mark.parametrize(
    ("query", "endpoint"),
    [(query, look) for query in ("", "?limit=3", "?limit=10", "?limit=x", "?limit=", "?other=1")]
    + [
        ("?" + query, look_by_model)
        for query in (
            "word=ab",
            "word=a&limit=0",
            "often=true",
            "word=ab&word=cd",
            "word=ab&often=2&x=1",
            "word=",
        )
    ],
)
@pytest.mark.parametrize("who", ["Grace", "Ada"])
async def test_a_direct_reading_answers_as_an_ordinary_one(
    registry: TestRegistry, query: str, who: str, endpoint: Callable[..., Any]
) -> None:
    app = FastAPI()
    app.state.runtime = registry.runtime
    problems.install(app)
    for path, kind in (("/ordinary", GuardedRoute), ("/direct", DirectRoute)):
        router = APIRouter(route_class=kind)
        router.get(path, dependencies=[Depends(never_ada)])(endpoint)
        app.include_router(router)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://registry.test"
    ) as http:
        ordinary = await http.get("/ordinary" + query, headers={"x-who": who})
        direct = await http.get("/direct" + query, headers={"x-who": who})
    assert direct.status_code == ordinary.status_code
    assert direct.text.replace("/direct", "/ordinary") == ordinary.text


async def submit(
    number: Annotated[int, Path(ge=1, le=9)],
    who: Annotated[str, Depends(found_in)],
    body: Order | None = None,
) -> Response:
    return JSONResponse({"number": number, "who": who, "to": None if body is None else body.to})


MEMBERS = [
    ("3", {"json": {"to": "a", "amount": "1"}}),
    ("3", {"json": None}),
    ("3", {}),
    ("3", {"json": {"to": "a"}}),
    ("3", {"json": []}),
    ("3", {"content": b"{", "headers": {"content-type": "application/json"}}),
    ("0", {}),
    ("10", {"json": {"to": ""}}),
    ("x", {}),
    ("1.0", {}),
    ("%33", {}),
    ("a%20b", {}),
]


@pytest.mark.parametrize(("value", "request_"), MEMBERS)
async def test_a_direct_route_with_a_parameter_answers_as_an_ordinary_one(
    registry: TestRegistry, value: str, request_: dict[str, Any]
) -> None:
    ordinary_router, direct_router = APIRouter(route_class=GuardedRoute), APIRouter(route_class=DirectRoute)
    ordinary_router.post("/things/{number}/submit", response_model=Order)(submit)
    direct_router.post("/things/{number}/submit", response_model=Order)(submit)
    app = FastAPI()
    app.state.runtime = registry.runtime
    problems.install(app)
    app.include_router(ordinary_router)
    guard = RequestGuard(app, direct={}, members=direct_members([direct_router], ""), trees=())
    answers = []

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        await guard({**scope, "app": app}, receive, send)

    for served in (app, guarded):
        transport = httpx2.ASGITransport(served)
        async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as http:
            answers.append(await http.post(f"/things/{value}/submit", **request_))
    ordinary, direct = answers
    assert (direct.status_code, direct.text) == (ordinary.status_code, ordinary.text)


async def test_a_direct_route_whose_parameter_stands_elsewhere_stops_the_start() -> None:
    async def read(number: Annotated[int, Path()]) -> Response:
        return Response(str(number))

    router = APIRouter(route_class=DirectRoute)
    router.get("/things/{number}")(read)
    with pytest.raises(TypeError, match="before the last one"):
        direct_members([router], "")


async def test_a_parameter_that_a_direct_route_cannot_find_is_a_type_error_of_its_first_request() -> None:
    async def unclear(limit: int) -> Response:
        return Response(str(limit))

    router = APIRouter(route_class=DirectRoute)
    router.get("/unclear")(unclear)
    (handler,) = direct_handlers([router], "").values()
    with pytest.raises(TypeError, match="limit"):
        await handler(Request({"type": "http"}))


def test_every_direct_route_of_the_service_finds_its_parameters() -> None:
    routes = [route for route in service_routes().routes if isinstance(route, DirectRoute)]
    assert routes
    for route in routes:
        assert route.get_route_handler()


def depends_on(dependant: Dependant, function: object) -> bool:
    return any(
        dependency.call is function or depends_on(dependency, function)
        for dependency in dependant.dependencies
    )


def test_only_direct_routes_act_on_what_was_read_of_their_caller_before() -> None:
    # Others would not judge a refused request again for the caller as it is now.
    found = {
        route.path: isinstance(route, DirectRoute)
        for route in service_routes().routes
        if isinstance(route, APIRoute) and depends_on(route.dependant, compared_agent_caller)
    }
    assert found == {
        "/api/v1/teg/transfer": True,
        "/api/v1/a2a-payment/authorize": True,
        "/api/v1/a2a-payment/settle": True,
    }


async def test_a_direct_route_of_the_last_part_answers_as_an_ordinary_one(registry: TestRegistry) -> None:
    async def read(number: Annotated[int, Path(ge=1, le=9)]) -> Response:
        return JSONResponse({"number": number})

    ordinary_router, direct_router = APIRouter(route_class=GuardedRoute), APIRouter(route_class=DirectRoute)
    ordinary_router.get("/things/{number}")(read)
    direct_router.get("/things/{number}")(read)
    app = FastAPI()
    app.state.runtime = registry.runtime
    problems.install(app)
    app.include_router(ordinary_router)
    trees = direct_trees([direct_router], "")
    guard = RequestGuard(app, direct={}, members={}, trees=trees)

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        await guard({**scope, "app": app}, receive, send)

    for path in (
        "/things/3",
        "/things/0",
        "/things/x",
        "/things/%33",
        "/things/3/4",
        "/things/3/",
        "/things/",
        "/things",
    ):
        answers = []
        for served in (app, guarded):
            transport = httpx2.ASGITransport(served)
            async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as http:
                answers.append(await http.get(path))
        ordinary, direct = answers
        assert (direct.status_code, direct.text) == (ordinary.status_code, ordinary.text), path
    # What is below it is left to the other routes.
    (tree,) = trees
    assert [tree.value_in("GET", path) for path in ("/things/3", "/things/3/4", "/things/", "/thing")] == [
        "3",
        None,
        None,
        None,
    ]
    assert tree.value_in("POST", "/things/3") is None
