"""The conformance suite of the Model Context Protocol, unmodified: its tools behind the door of ours, and the authorization server.

Every check of the suite holds but those that are named here with their reason; a check that is new and does not hold fails the test.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hansa.doors.mcp import PROTOCOL, protocol, routes
from hansa.doors.serving.listeners import listen
from hansa.foundation.plumbing.web.limits import Limit
from tests.connections import client_of
from tests.conversations.test_mcp_clients import served
from tests.operation.registry_process import free_port
from tests.pinned_tools import PinnedTools
from tests.registry import StartRegistry, TestRegistry
from tests.stock_clients.conformance_fixture import fixture
from tests.stock_clients.talking import running_node
from tests.stock_clients.tools import installed

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
HELD = {"SUCCESS", "INFO"}

# Decided in the specification (8, section 2): tools alone, without resources, prompts and tasks; a message has one answer in JSON.
RESOURCES = "the registry has no resources"
PROMPTS = "the registry has no prompts, and completes no arguments of them"
NO_STREAM = "an answer is one JSON document: nothing is sent or asked within a call, and no list changes while it is listened to"
NO_SESSION = "a request is served without a session"
LEFT_OUT = {
    **dict.fromkeys(
        [
            *("resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read"),
            *("resources-subscribe", "resources-unsubscribe"),
            *("sep-2164-error-code", "sep-2164-data-uri"),
            "sep-2549-resources-list-caching-hints",
            "sep-2549-resources-templates-list-caching-hints",
            "sep-2549-resources-read-caching-hints",
        ],
        RESOURCES,
    ),
    **dict.fromkeys(
        [
            *("prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource"),
            *("prompts-get-with-image", "completion-complete"),
            "sep-2322-non-tool-incomplete",
            "sep-2549-prompts-list-caching-hints",
            "sep-2575-server-sends-prompts-list-changed-on-subscription",
        ],
        PROMPTS,
    ),
    **dict.fromkeys(
        [
            *("logging-set-level", "tools-call-with-logging", "tools-call-with-progress"),
            *("tools-call-sampling", "tools-call-elicitation"),
            *("elicitation-sep1034-general", "elicitation-sep1330-general"),
            "sep-2575-server-sends-subscription-ack",
            "sep-2575-server-tags-subscription-id",
            "sep-2575-server-honors-notification-filter",
            "sep-2575-server-sends-tools-list-changed-on-subscription",
        ],
        NO_STREAM,
    ),
    **dict.fromkeys(["server-sse-polling-session", "server-sse-multiple-streams-session"], NO_SESSION),
}
# Checks of one revision alone.
OF_HANDSHAKE = {
    *("resources-subscribe", "resources-unsubscribe", "logging-set-level", "tools-call-with-logging"),
    *("tools-call-sampling", "tools-call-elicitation"),
    *("elicitation-sep1034-general", "elicitation-sep1330-general"),
    *("server-sse-polling-session", "server-sse-multiple-streams-session"),
}
EXPECTED = {
    HANDSHAKE: OF_HANDSHAKE | {name for name in LEFT_OUT if not name.startswith("sep-")},
    MODERN: set(LEFT_OUT) - OF_HANDSHAKE,
}


def checks_in(results: Path) -> list[dict[str, Any]]:
    """Every check that the suite has written to a directory."""
    return [check for file in results.glob("*/checks.json") for check in json.loads(file.read_text())]


@dataclass
class Judged:
    """A registry that serves, and the suite that calls it."""

    registry: TestRegistry
    address: str
    tools: PinnedTools

    @property
    def suite(self) -> Path:
        return self.tools.home / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

    async def verdicts(self, results: Path, revision: str, *scenarios: str) -> dict[str, str]:
        """The message of each check of the tools that does not hold, by its id."""
        address = f"{self.address}/mcp/public"
        asked = [f"--scenario={name}" for name in scenarios] or ["--suite=all"]
        options = ["--url", address, "--spec-version", revision, "-o", results, *asked]
        done = await asyncio.to_thread(self.tools.run, [self.tools.node, self.suite, "server", *options])
        checks = checks_in(results)
        assert any(check["status"] == "SUCCESS" for check in checks), done.stdout + done.stderr
        return {
            one["id"]: str(one.get("errorMessage") or one.get("details"))
            for one in checks
            if one["status"] not in HELD
        }


@pytest.fixture(scope="module")
def tools() -> PinnedTools:
    return installed()


@pytest.fixture
async def judged(
    start_registry: StartRegistry, tools: PinnedTools, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Judged]:
    monkeypatch.setitem(routes.ANYONES_REQUESTS, "public", Limit("mcp-conformance", 10_000))
    listener = listen("127.0.0.1", 0)
    # The suite sends the address that it calls as the own origin.
    registry = await start_registry(port=str(listener.getsockname()[1]))
    await PROTOCOL.of(registry.runtime).load()
    async with served(registry, listener) as address:
        yield Judged(registry, address, tools)


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
async def test_the_door_holds_every_check_that_is_not_left_out_by_decision(
    judged: Judged, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, revision: str
) -> None:
    monkeypatch.setattr(protocol, "_PUBLIC", fixture())
    failed = await judged.verdicts(tmp_path, revision)
    assert {name: said for name, said in failed.items() if name not in EXPECTED[revision]} == {}
    assert EXPECTED[revision] - set(failed) == set()


async def test_the_tools_of_the_registry_are_listed_as_the_suite_asks(judged: Judged, tmp_path: Path) -> None:
    for revision in (HANDSHAKE, MODERN):
        assert await judged.verdicts(tmp_path, revision, "tools-list") == {}


async def test_the_authorization_server_holds_the_scenarios_of_the_suite(
    judged: Judged, tmp_path: Path
) -> None:
    port = free_port()
    client = await client_of(judged.registry, redirect_uri=f"http://127.0.0.1:{port}/callback")
    options = ["--url", judged.address, "--client-id", client.client_id, "--port", str(port)]
    options += ["--resource", f"{judged.address}/mcp", "-o", str(tmp_path)]
    errors = tmp_path / "errors"
    async with running_node(
        judged.tools, judged.suite, "authorization", *options, errors=errors
    ) as authorization:
        consent = await authorization.line(f"{judged.address}/oauth/authorize")
        await client.browser.open(consent.removeprefix(judged.address))
        await client.allow()
        async with httpx2.AsyncClient() as browser:
            assert (await browser.get(client.led_back_to())).status_code == httpx2.codes.OK
        await authorization.ended()
    held = [
        "authorization-server-metadata",
        "authorization-server-metadata-cimd",
        "authorization-code-grant",
    ]
    assert {one["id"]: one["status"] for one in checks_in(tmp_path)} == dict.fromkeys(held, "SUCCESS")
