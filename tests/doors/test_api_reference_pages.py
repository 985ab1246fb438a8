"""The API reference: one page with every operation, and a page for each."""

import json
import re
from html import unescape

import pytest

from tests.doors.pages_read import ReadPage
from tests.registry import TestRegistry


@pytest.fixture(scope="module")
def registry(shared_registry: TestRegistry) -> TestRegistry:
    return shared_registry


async def test_the_reference_lists_every_operation_with_its_summary_by_subject(registry: TestRegistry):
    document = (await registry.get("/openapi.json")).json()
    text = (await registry.http.get("/docs")).text
    listed = re.findall(r"<b>([A-Z]+)</b> ([^<]+)</a>", text)
    described = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]
    assert sorted(listed) == sorted(described)
    tags = re.findall(r"<summary><h2>([^<]+)</h2>", text)
    assert tags == [tag["name"] for tag in document["tags"]]
    assert "Transfer units to another agent of this registry" in text


async def test_each_operation_has_a_page_with_its_errors_and_an_example(registry: TestRegistry):
    document = (await registry.get("/openapi.json")).json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            answer = await registry.http.get(f"/docs/operations/{operation['operationId']}")
            assert (path, answer.status_code) == (path, 200)
            assert path in unescape(answer.text)
            for code in re.findall(r"`([A-Z][A-Z0-9_]+)`: ", json.dumps(operation["responses"])):
                assert (method, path, code, f"/docs/problems/{code}" in answer.text) == (
                    method,
                    path,
                    code,
                    True,
                )


async def test_the_page_of_an_operation_says_who_may_call_it_and_what_its_body_holds(registry: TestRegistry):
    page = ReadPage((await registry.http.get("/docs/operations/transfer_units")).text)
    command, request, *_ = page.commands
    assert "Requires an agent token" in page.html
    assert "Authorization: Bearer $AGENT_TOKEN" in command
    assert registry.settings.base_url + "/api/v1/teg/transfer" in command
    assert json.loads(request)["amount"] == "12.5"
    assert "<td><code>receiver_agent_id</code>" in page.html
    public = (await registry.http.get("/docs/operations/verify_payment")).text
    assert "Requires no credential" in public


async def test_an_unknown_operation_is_404(registry: TestRegistry):
    assert (await registry.http.get("/docs/operations/nothing")).status_code == 404


async def test_the_page_of_an_error_code_shows_a_response_and_links_the_operations(registry: TestRegistry):
    page = ReadPage((await registry.http.get("/docs/problems/INSUFFICIENT_BALANCE")).text)
    example = json.loads(page.commands[0])
    assert (example["status"], example["error"]["type"]) == (402, "payment_required")
    assert example["type"] == f"{registry.settings.base_url}/docs/problems/INSUFFICIENT_BALANCE"
    assert "/docs/operations/transfer_units" in page.addresses
