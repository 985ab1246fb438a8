"""The conformance suite of the Model Context Protocol, unmodified, against the public tools of a registry that serves."""

import asyncio
import re

import pytest

from hansa.doors.mcp import PROTOCOL, routes
from hansa.doors.serving.listeners import listen
from hansa.foundation.plumbing.web.limits import Limit
from tests.conversations.test_mcp_clients import served
from tests.pinned_tools import PinnedTools
from tests.registry import StartRegistry
from tests.stock_clients.tools import installed

HANDSHAKE = [
    "server-initialize",
    "ping",
    "tools-list",
    "server-session-lifecycle",
    "dns-rebinding-protection",
]
MODERN = ["tools-list", "dns-rebinding-protection", "http-header-validation", "server-stateless"]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# These need a tool that asks the client for something within the call, which the registry does not have.
WITHOUT_A_TOOL = "Not testable: server does not list the diagnostic tool"


@pytest.fixture(scope="module")
def tools() -> PinnedTools:
    return installed()


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [*(("2025-11-25", one) for one in HANDSHAKE), *(("2026-07-28", one) for one in MODERN)],
)
async def test_a_scenario_of_the_suite_that_needs_no_tools_of_its_own_holds(
    start_registry: StartRegistry,
    tools: PinnedTools,
    monkeypatch: pytest.MonkeyPatch,
    revision: str,
    scenario: str,
) -> None:
    monkeypatch.setattr(routes, "PUBLIC_CALLS", Limit("mcp-conformance", 10_000))
    listener = listen("127.0.0.1", 0)
    # The suite sends the address that it calls as the own origin.
    registry = await start_registry(port=str(listener.getsockname()[1]))
    await PROTOCOL.of(registry.runtime).load()
    suite = tools.home / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    async with served(registry, listener) as address:
        command = [tools.node, suite, "server", "--url", f"{address}/mcp/public"]
        asked = [*command, "--spec-version", revision, "--scenario", scenario]
        done = await asyncio.to_thread(tools.run, asked)
    said = COLOURS.sub("", done.stdout + done.stderr)
    failed = re.search(r"Passed: \d+/\d+, (\d+) failed", said)
    assert failed, said
    assert int(failed[1]) == said.count(WITHOUT_A_TOOL), said
