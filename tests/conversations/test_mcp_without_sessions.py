"""Answers of the tools without a session of the SDK, beside its answers to the same requests."""

from typing import Any

import pytest

from hansa.doors.mcp import protocol
from tests.conversations.mcp_client import McpClient
from tests.registry import TestRegistry

CALL = {"name": "read_registry", "arguments": {}}
MESSAGES: dict[str, Any] = {
    "a list": {"method": "tools/list"},
    "a list with parameters": {
        "method": "tools/list",
        "params": {"cursor": "next", "_meta": {"progressToken": 1}},
    },
    "a call": {"method": "tools/call", "params": CALL},
    "a call with a name as its id": {"id": "one", "method": "tools/call", "params": CALL},
    "a call of an unknown tool": {"method": "tools/call", "params": {"name": "nothing"}},
    "a call without a name": {"method": "tools/call", "params": {"arguments": {}}},
    "a call with a list of arguments": {"method": "tools/call", "params": {**CALL, "arguments": []}},
    "a call without parameters": {"method": "tools/call"},
    "a refused call": {"method": "tools/call", "params": {"name": "read_agent", "arguments": {}}},
    "a call with a progress token": {
        "method": "tools/call",
        "params": {**CALL, "_meta": {"progressToken": "t"}},
    },
}
FIELDS: dict[str, dict[str, str]] = {
    **{
        revision: {"MCP-Protocol-Version": revision}
        for revision in ("2025-03-26", "2025-06-18", "2025-11-25")
    },
    "any type accepted": {"Accept": "*/*"},
    "a type with a parameter": {"Content-Type": "application/json; charset=utf-8"},
    "a session that is unknown": {"Mcp-Session-Id": "unknown"},
}


@pytest.fixture
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
def served_single(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """One member for each request since the last look: True where it was served without a session."""
    found: list[bool] = []

    def counted(*arguments: Any) -> Any:
        message = single_request(*arguments)
        found.append(message is not None)
        return message

    single_request = protocol.single_request
    monkeypatch.setattr(protocol, "single_request", counted)
    return found


@pytest.mark.parametrize(
    ("name", "fields"),
    [*((name, "2025-11-25") for name in MESSAGES), *(("a call", fields) for fields in FIELDS)],
)
async def test_a_request_has_the_same_answer_with_and_without_a_session(
    registry: TestRegistry, served_single: list[bool], monkeypatch: pytest.MonkeyPatch, name: str, fields: str
):
    client = McpClient(registry, path="/mcp/public", headers=FIELDS[fields])
    message = {"jsonrpc": "2.0", "id": 7, **MESSAGES[name]}
    without = await client.post(message)
    assert served_single == [True]
    monkeypatch.setattr(protocol, "single_request", lambda *_: None)
    within = await client.post(message)
    assert (without.status_code, without.json()) == (within.status_code, within.json())
    assert without.headers["content-type"] == within.headers["content-type"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}}, {}),
        ({"jsonrpc": "2.0", "id": 7, "method": "ping"}, {}),
        ({"jsonrpc": "2.0", "method": "tools/list"}, {}),
        ({"jsonrpc": "2.0", "id": None, "method": "tools/list"}, {}),
        ({"jsonrpc": "1.0", "id": 7, "method": "tools/list"}, {}),
        ([{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}], {}),
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}, {"Accept": "text/html"}),
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}, {"Content-Type": "text/plain"}),
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}, {"MCP-Protocol-Version": "2026-07-28"}),
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}, {"MCP-Protocol-Version": "1999-01-01"}),
    ],
)
async def test_every_other_message_is_served_by_the_sdk(
    registry: TestRegistry, served_single: list[bool], body: Any, fields: dict[str, str]
):
    client = McpClient(registry, path="/mcp/public", headers=fields)
    answer = await client.post(body)
    assert not any(served_single)
    assert answer.status_code < 500
