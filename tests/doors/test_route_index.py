"""The route index finds for every request the route that asking each in turn would find."""

import random
import re
from pathlib import Path
from uuid import UUID

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import Scope

from hansa.doors.http.route_index import CHOSEN
from hansa.doors.reference_map import empty_app
from tests.properties.scale import by_tier, printed_seed

SEGMENTS = [
    "me",
    "5",
    str(UUID(int=7)),
    "did:hansa:x:1",
    "",
    ".",
    "..",
    "export",
    "%2F",
    "a b",
    "stats",
    "{did}",
    "é",
]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    directory: Path = tmp_path_factory.mktemp("house")
    return empty_app(directory)


def test_a_request_is_led_where_asking_every_route_in_turn_would_lead_it(app: FastAPI):
    lot = random.Random(printed_seed())
    known = paths_of(app)
    assert len(known) > 150
    (route_index,) = app.router.routes
    for path in [*known, *(spoiled(lot, known) for _ in range(by_tier(300, 50_000, 500_000)))]:
        for kind, methods in (("http", METHODS), ("websocket", [""])):
            candidates = suiting(app, kind, path)
            for method in methods:
                match, child_scope = route_index.matches(scope_of(kind, method, path))
                asked = in_turn(candidates, kind, method, path)
                assert (match, child_scope.get(CHOSEN)) == asked, (kind, method, path)


def suiting(app: FastAPI, kind: str, path: str) -> list[BaseRoute]:
    """The routes of this path: one that does not match it with some method does not with any, one of another method partly."""
    return [route for route in app.routes if route.matches(scope_of(kind, "GET", path))[0] is not Match.NONE]


def in_turn(candidates: list[BaseRoute], kind: str, method: str, path: str) -> tuple[Match, BaseRoute | None]:
    answers = [(route.matches(scope_of(kind, method, path))[0], route) for route in candidates]
    for wanted in (Match.FULL, Match.PARTIAL):
        if found := next((answer for answer in answers if answer[0] is wanted), None):
            return found
    return Match.NONE, None


def scope_of(kind: str, method: str, path: str) -> Scope:
    return {"type": kind, "method": method, "path": path, "root_path": "", "headers": []}


def paths_of(app: FastAPI) -> list[str]:
    """A path for every route."""
    templates = [
        f"{route.path}/{{path}}" if isinstance(route, Mount) else str(route.path)
        for route in iter_route_contexts(app.routes)
    ]
    return [
        re.sub(r"{\w+(:uuid)?[^}]*}", lambda part: str(UUID(int=3)) if part[1] else "x", t) for t in templates
    ]


def spoiled(lot: random.Random, known: list[str]) -> str:
    """One of the paths with a segment more, less or another one, or a beginning of it."""
    segments = lot.choice(known).split("/")
    place = lot.randrange(1, len(segments))
    kept = lot.choice([segments[:place], segments[:place] + segments[place + 1 :], segments])
    return "/".join([*kept[:place], *lot.sample(SEGMENTS, lot.randint(0, 2)), *kept[place:]]) or "/"
