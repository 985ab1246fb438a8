"""A refusal names the invalid member as its sender wrote it, and nothing of how the registry reads it."""

from typing import Any

import pytest

from hansa.foundation.values.areas import ADMIN_AREAS
from tests.registry import TestRegistry

WRONG: dict[str, tuple[str, Any, str]] = {
    "a member of one form of a body": ("/auth/api-keys", {"key_name": 7}, "key_name"),
    "an item of a list": ("/auth/api-keys", {"key_name": "a", "scopes": ["*", "all"]}, "scopes.1"),
    "a missing member": ("/auth/api-keys", {"scopes": ["*"]}, "key_name"),
    "a body of no form": ("/auth/api-keys", 7, "body"),
    "a choice of several types": (
        "/developers/webhooks",
        {"url": "https://example.org", "event_types": ["*", "x"]},
        "event_types.1",
    ),
    "an item of a member of an object": (
        "/agents/capabilities",
        {"caveats": {"permissions": ["fly"]}},
        "caveats.permissions.0",
    ),
    "a member of an object": (
        "/ard/search",
        {"query": {"text": "a", "filter": {"tags": 7}}},
        "query.filter.tags",
    ),
    "an unknown member": ("/ard/search", {"query": {"text": "a"}, "pages": 1}, "pages"),
    "a missing member of an object": ("/ard/explore", {"resultType": {}}, "resultType.facets"),
    "a key of an object": (
        "/ard/search",
        {"query": {"text": "a", "filter": {"t" * 300: "a"}}},
        f"query.filter.{'t' * 300}",
    ),
    "a member of a direct route": ("/teg/send", {"amount": "1", "receiver_did": 7}, "receiver_did"),
    "no object": ("/teg/send", "units", "body"),
}


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_refusal_names_the_member_as_it_was_sent(wrong: str, registry: TestRegistry):
    path, body, field = WRONG[wrong]
    developer = await registry.administrator(*ADMIN_AREAS)
    caller = await developer.agent() if path.startswith(("/teg", "/agents/")) else developer
    answer = await registry.post(path, json=body, headers=caller.headers)
    assert answer.status_code in {400, 422}, answer.text
    assert answer.json()["error"]["field"] == field


async def test_a_refused_query_names_the_parameter(registry: TestRegistry):
    answer = await registry.get("/agent-cards/", params={"tags": ["fine", ""]})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "tags")
