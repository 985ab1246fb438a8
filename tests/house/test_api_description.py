"""The OpenAPI document is complete: who may call an operation, its tag, its examples, its refusals, unique names."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hansa.doors.http.api_examples import add_examples
from hansa.doors.http.api_tags import TAGS
from hansa.doors.reference_map import CALLERS, empty_app, entrances
from hansa.foundation.plumbing.caller import anyone
from tests.openapi.judge import Judge

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    house: Path = tmp_path_factory.mktemp("house")
    return empty_app(house).openapi()


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
    assert used == set(TAGS), "src/hansa/doors/http/api_tags.py describes each tag that is used, and no other"
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
        assert media_types - {"text/x.tlog.size"} == {"application/problem+json"}, name


def test_each_body_has_an_example_that_fits_its_schema(document: Document):
    judge, wrong = Judge(document), []
    for name, media_type, body in bodies(document):
        if "example" not in body or "schema" not in body:
            wrong.append(f"{name}: no example or no schema")
        elif "json" in media_type or "form" in media_type:
            faults = judge.faults(body["schema"], body["example"])
            wrong += [f"{name}: {fault.message[:200]}" for fault in faults]
    assert wrong == [], "src/hansa/doors/http/api_example_values.py holds the values of examples"


def test_each_member_of_an_example_has_a_meaningful_value(document: Document):
    assert add_examples(document) == [], (
        "give these `Field(examples=[…])`, or a value in src/hansa/doors/http/api_example_values.py"
    )


def test_whole_numbers_are_written_whole(document: Document):
    values = every_value({name: operation for name, operation in document.items() if name != "info"})
    assert [value for value in values if isinstance(value, float) and value.is_integer()] == []
