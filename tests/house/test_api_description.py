"""The OpenAPI document is complete: who may call an operation, its tag, its examples, its refusals, unique names."""

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant

from hansa.doors.http.api.description import TAGS, add_examples
from hansa.doors.reference_map import CALLERS, empty_app, entrances
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.caller import AGENT_CHECK, AreaMissing, Developer, anyone
from hansa.foundation.plumbing.web.problem_docs import raised_by, refusals_of, refuses_with
from tests.house.raised import raised_in
from tests.openapi.judge import Judge

Document = dict[str, Any]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return empty_app(tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def document(app: FastAPI) -> Document:
    return app.openapi()


def operations(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def bodies(document: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each body of an operation that is carried out: where it is, its media type, its declaration."""
    for name, operation in operations(document):
        for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{name} request", media_type, body
        for status, response in operation["responses"].items():
            if status.startswith("2"):
                for media_type, body in response.get("content", {}).items():
                    yield f"{name} {status}", media_type, body


def every_value(node: Any) -> Iterator[Any]:
    yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from every_value(child)


def test_the_name_of_a_model_is_its_own(document: Document):
    doubled = [
        name
        for name in document["components"]["schemas"]
        if not re.fullmatch(r"[A-Za-z0-9]+(_[A-Za-z0-9]+_)?", name)
    ]
    assert doubled == [], "two models share a name, or one is used for requests and answers: rename one"


def test_the_id_of_an_operation_is_readable_and_its_own(document: Document):
    ids = Counter(operation["operationId"] for _, operation in operations(document))
    assert [name for name, times in ids.items() if times > 1] == [], "rename one of the functions"
    assert [name for name in ids if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name)] == []


def test_an_operation_has_one_tag_and_each_tag_is_described(document: Document):
    tags = {name: operation["tags"] for name, operation in operations(document)}
    assert [name for name, own in tags.items() if len(own) != 1] == [], "give the router a tag"
    used = {own[0] for own in tags.values()}
    assert used == set(TAGS), (
        "src/hansa/doors/http/api/description.py describes each tag that is used, and no other"
    )
    assert [tag["name"] for tag in document["tags"]] == list(TAGS)


def test_an_operation_says_which_credential_it_takes(document: Document, tmp_path: Path):
    described = dict(operations(document))
    public = {
        f"{entrance.method} {entrance.context.path_format}"
        for entrance in entrances(empty_app(tmp_path))
        if entrance.callers == (CALLERS[anyone],) and entrance.context.include_in_schema
    }
    assert len(public) > 40
    assert {name for name, operation in described.items() if operation["security"] == []} == public


def test_an_operation_declares_its_refusals_as_problem_documents(document: Document):
    for name, operation in operations(document):
        refusals = {status: body for status, body in operation["responses"].items() if status >= "400"}
        assert {"400", "429", "503"} <= refusals.keys(), name
        assert "401" in refusals or operation["security"] in (
            [],
            *[[scheme, {}] for scheme in operation["security"]],
        ), name
        media_types = {media_type for body in refusals.values() for media_type in body["content"]}
        # A witness names the size of a log in a media type that its protocol prescribes.
        # Faults of OAuth are JSON of RFC 6749.
        # The health of the stack is one document, whatever its status.
        is_json = " /oauth/" in name or name.endswith("/stack-health")
        prescribed = {"text/x.tlog.size"} | ({"application/json"} if is_json else set())
        assert media_types - prescribed == {"application/problem+json"}, name


def every_dependency(dependant: Dependant) -> Iterator[Any]:
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from every_dependency(dependency)


def unmarked(called: Any, runtime: Runtime) -> set[str]:
    """The refusals that a dependency raises and that it is not marked with."""
    if not inspect.isfunction(called):
        return set()
    return {refusal.__name__ for refusal in raised_in(called) - {*raised_by(called, runtime)}}


def test_an_operation_lists_what_its_dependencies_raise(document: Document, app: FastAPI):
    described = dict(operations(document))
    missing = [
        (f"{entrance.method} {entrance.path}", refusal.code)
        for entrance in entrances(app)
        if entrance.context.include_in_schema
        for refusal in refusals_of(entrance.context.dependant, app.state.runtime)
        if f"`{refusal.code}`"
        not in described[f"{entrance.method} {entrance.context.path_format}"]["responses"][
            str(refusal.status)
        ]["description"]
    ]
    assert missing == []


def test_every_route_of_administrators_lists_each_refusal_of_an_administrator(
    document: Document, app: FastAPI
):
    described = dict(operations(document))
    administered = [
        described[f"{entrance.method} {entrance.context.path_format}"]["responses"]["403"]["description"]
        for entrance in entrances(app)
        if entrance.context.include_in_schema and entrance.callers[0].startswith("developer holding")
    ]
    assert len(administered) > 60
    codes = ("AREA_MISSING", "DEVELOPER_SUSPENDED", "SCOPE_MISSING", "ADMIN_2FA_REQUIRED")
    assert [text for text in administered if not all(f"`{code}`" in text for code in codes)] == []


def test_a_dependency_is_marked_with_what_it_raises(app: FastAPI):
    dependencies = {
        called
        for entrance in entrances(app)
        if entrance.context.include_in_schema
        for called in every_dependency(entrance.context.dependant)
    }
    runtime = app.state.runtime
    missing = {
        (called.__qualname__, refusal) for called in dependencies for refusal in unmarked(called, runtime)
    }
    assert missing == set(), "mark them with `refuses_with` (foundation/plumbing/web/problem_docs.py)"
    assert unmarked(AGENT_CHECK.of(runtime), runtime) == set()


def test_what_a_dependency_raises_is_seen_in_what_it_calls_as_well(app: FastAPI):
    runtime = app.state.runtime
    assert unmarked(without_mark, runtime) == {"AreaMissing", "AreasWithheld"}
    assert unmarked(with_one_mark, runtime) == {"AreasWithheld"}


async def without_mark(developer: Developer) -> None:
    _require_administrator(developer)


@refuses_with(AreaMissing)
async def with_one_mark(developer: Developer) -> None:
    _require_administrator(developer)


def _require_administrator(developer: Developer) -> None:
    """Raises: AreasWithheld."""
    if not developer.areas:
        raise AreaMissing


def test_each_body_has_an_example_that_fits_its_schema(document: Document):
    judge, wrong = Judge(document), []
    for name, media_type, body in bodies(document):
        if "example" not in body or "schema" not in body:
            wrong.append(f"{name}: no example or no schema")
        elif "json" in media_type or "form" in media_type:
            faults = judge.faults(body["schema"], body["example"])
            wrong += [f"{name}: {fault.message[:200]}" for fault in faults]
    assert wrong == [], "src/hansa/doors/http/api/example_values.py holds the values of examples"


def test_each_member_of_an_example_has_a_meaningful_value(document: Document):
    assert add_examples(document) == [], (
        "give these `Field(examples=[…])`, or a value in src/hansa/doors/http/api/example_values.py"
    )


def test_whole_numbers_are_written_whole(document: Document):
    values = every_value({name: operation for name, operation in document.items() if name != "info"})
    assert [value for value in values if isinstance(value, float) and value.is_integer()] == []
