"""Hostile strings in every member, query parameter and path parameter: no mistake of ours, and no refusal stores."""

import copy
import random
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI

from hansa.doors.reference_map import empty_app, entrances
from hansa.rooms.agents.capabilities import rules
from tests.hostile.corpus import HOSTILE, NUL_TEXTS
from tests.hostile.refusals import fault_of
from tests.hostile.rows import rows_of_every_table
from tests.hostile.well_formed import EVERYTHING_ON, Stage, WellFormed, set_stage, well_formed
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry

STRINGS_PER_PLACE = by_tier(1, len(HOSTILE), len(HOSTILE))
NULS_PER_PLACE = by_tier(1, len(NUL_TEXTS), len(NUL_TEXTS))

Document = dict[str, Any]
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Attempt:
    """A request with a hostile string at one place."""

    place: str
    text: str
    prepare: Callable[[], Awaitable[WellFormed]]


@pytest.fixture
async def stage(start_registry: StartRegistry, monkeypatch: pytest.MonkeyPatch) -> Stage:
    # One agent issues a capability for every string; how many it may have alive is not the question here.
    monkeypatch.setattr(rules, "ALIVE_MAX", 1_000_000)
    return await set_stage(await start_registry(**EVERYTHING_ON))


@pytest.fixture
def app(tmp_path) -> FastAPI:
    return empty_app(tmp_path)


async def test_no_string_in_a_body_makes_us_fail_and_none_that_is_refused_is_stored(
    stage: Stage, app: FastAPI
):
    strings, nuls = hostile_strings(), cycle(NUL_TEXTS)
    faults = []
    for operation, described in operations(app):
        if "requestBody" in described:
            attempts = [
                Attempt(".".join(map(str, place)), text, partial(with_body, operation, place, text, stage))
                for place in places(app, described, await well_formed(operation, stage))
                for text in [*islice(strings, STRINGS_PER_PLACE), *islice(nuls, 1)]
            ]
            faults += await faults_of(attempts, operation, stage)
    assert not faults, "\n".join(faults)


async def test_no_string_in_a_query_or_a_path_makes_us_fail(stage: Stage, app: FastAPI):
    strings, nuls = hostile_strings(), cycle(NUL_TEXTS)
    faults = []
    for operation, described in operations(app):
        if operation not in NEEDS_NOTHING:
            attempts = [
                Attempt(
                    f"{parameter['in']}.{parameter['name']}",
                    text,
                    partial(parametrised, operation, parameter, text, stage),
                )
                for parameter in described.get("parameters", [])
                for text in [*islice(strings, STRINGS_PER_PLACE), *islice(nuls, NULS_PER_PLACE)]
            ]
            faults += await faults_of(attempts, operation, stage)
    assert not faults, "\n".join(faults)


def hostile_strings() -> Iterator[str]:
    """All of them in turn, in an order of this run: there are more places than strings."""
    return cycle(random.Random(printed_seed()).sample(HOSTILE, len(HOSTILE)))


async def with_body(operation: str, place: Place, text: str, stage: Stage) -> WellFormed:
    """The request with `text` at one place of its body."""
    return spoiled(await cheap(operation, stage), place, text)


async def test_a_repeated_or_unknown_query_parameter_makes_no_difference_to_our_composure(stage: Stage):
    for query in [
        "limit=1&limit=2",
        "limit[]=1",
        "zzz=1",
        "&&&",
        "=",
        "limit",
        "a=" + "b" * 8000,
        "tags=a&tags=b",
    ]:
        answer = await stage.registry.http.get(f"/api/v1/agent-cards/?{query}")
        assert answer.status_code == 200 or fault_of(answer) is None, (query, answer.text)


# No parameter of theirs is read from the request target, and their answers grow with the registry.
NEEDS_NOTHING = {"GET /metrics"}


def operations(app: FastAPI) -> Iterator[tuple[str, Document]]:
    """Every described operation, named as the map names it, with its description."""
    described = app.openapi()["paths"]
    for entrance in entrances(app):
        if entrance.context.include_in_schema:
            path = entrance.context.path_format
            yield f"{entrance.method} {entrance.path}", described[path][entrance.method.lower()]


def places(app: FastAPI, described: Document, good: WellFormed) -> list[Place]:
    """Return the places of a string in the body: every leaf of the well-formed one, and every member it may have."""
    (content,) = [media["schema"] for media in described["requestBody"]["content"].values()]
    schemas = app.openapi()["components"]["schemas"]
    shapes = [
        shape["$ref"].rpartition("/")[2] for shape in content.get("anyOf", [content]) if "$ref" in shape
    ]
    members = [name for shape in shapes for name in schemas[shape]["properties"]]
    return list(dict.fromkeys([*((name,) for name in members), *_leaves(good.json or {})]))


def spoiled(good: WellFormed, place: Place, text: str) -> WellFormed:
    """The request with `text` at one place of its body."""
    if good.form is not None:
        return WellFormed(good.method, good.path, form={**good.form, str(place[0]): text})
    document = copy.deepcopy(good.json) or {}
    parent = document
    for step in place[:-1]:
        parent = parent[step]
    parent[place[-1]] = text
    return WellFormed(good.method, good.path, json=document)


async def cheap(operation: str, stage: Stage) -> WellFormed:
    """A well-formed request, or one as good that needs no account of its own."""
    if operation.endswith("/auth/login"):
        someone = f"nobody{random.randrange(10**9)}@example.net"
        return WellFormed(
            "POST", "/api/v1/auth/login", form={"username": someone, "password": "Wrong-Horse-7"}
        )
    if operation.endswith("/auth/refresh"):
        return WellFormed("POST", "/api/v1/auth/refresh", json={"refresh_token": "hrt_unknown"})
    return await well_formed(operation, stage)


async def parametrised(operation: str, parameter: Document, text: str, stage: Stage) -> WellFormed:
    """The request with `text` as one parameter; in a path it is escaped, slashes and all."""
    method, path = operation.split(" ")
    if parameter["in"] == "query":
        good = await well_formed(operation, stage)
        return WellFormed(method, good.path, query={**good.query, parameter["name"]: text}, json=good.json)
    if parameter["in"] == "header":
        return await well_formed(operation, stage)
    (template,) = re.findall("{" + parameter["name"] + "(?::[a-z_]+)?}", path)
    return WellFormed(method, path.replace(template, _segment(text)))


def _segment(text: str) -> str:
    # Bare dots never leave the client: they lead to another path.
    return "%2E" * len(text) if set(text) == {"."} else quote(text, safe="")


async def faults_of(attempts: list[Attempt], operation: str, stage: Stage) -> list[str]:
    """Return the faults of an operation's answers to hostile strings.

    Rows are counted once around all refusals. Where some strings are taken, which stores rows, the refused ones are sent
    once more without them.
    """
    refused, faults, is_unchanged = await _refusals(attempts, operation, stage)
    if refused and len(refused) < len(attempts):
        attempts = refused
        refused, more, is_unchanged = await _refusals(attempts, operation, stage)
        faults += more
    if len(refused) == len(attempts) and not is_unchanged:
        strings = [(attempt.place, attempt.text) for attempt in attempts]
        faults.append(f"{operation}: refused {strings!r:.2000}, and stored")
    return faults


async def _refusals(
    attempts: list[Attempt], operation: str, stage: Stage
) -> tuple[list[Attempt], list[str], bool]:
    """Return the refused attempts, the faults of the refusals, and whether as many rows as before are stored."""
    requests = [
        (attempt, await attempt.prepare(), await _credential(operation, stage)) for attempt in attempts
    ]
    before = await rows_of_every_table(stage.registry)
    refused, faults = [], []
    for attempt, request, credential in requests:
        answer = await request.send(stage.registry, credential)
        if answer.is_success:
            continue
        refused.append(attempt)
        if fault := fault_of(answer):
            faults.append(f"{operation} at {attempt.place} with {attempt.text[:60]!r}: {fault}")
    return refused, faults, await rows_of_every_table(stage.registry) == before


OF_ACCOUNTS = (
    "/auth/change-password",
    "/auth/recovery-keys",
    "/auth/sessions",
    "/2fa/disable",
    "/2fa/recover",
    "/2fa/verify",
)


async def _credential(operation: str, stage: Stage) -> dict[str, str]:
    if "/onboard/create_agent" in operation:
        return {"Bootstrap-Token": await stage.developer.bootstrap_token()}
    if "/admin/" in operation or operation.startswith("POST /api/v1/auth/api-keys"):
        # Of whom nothing else is asked, so that the keys made here fill no other account.
        return stage.administrator.headers
    if "/events/" in operation:
        return stage.registry.internal
    of_agents = "/teg/" in operation or "/agents/me" in operation or "/capabilities" in operation
    parts = (
        "/onboard/",
        "/auth/profile",
        "/api-keys",
        "/authz",
        "/spend-approvals",
        "/delegations",
        "/logs",
        "/deployments",
        "/spawn",
        "/agents/import",
        "/agent-builder/",
        "/export",
        *OF_ACCOUNTS,
    )
    of_developers = any(part in operation for part in parts)
    return stage.agent.headers if of_agents else stage.developer.headers if of_developers else {}


def _leaves(value: Any, at: Place = ()) -> Iterator[Place]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _leaves(member, (*at, name))
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _leaves(member, (*at, number))
    elif isinstance(value, str):
        yield at
