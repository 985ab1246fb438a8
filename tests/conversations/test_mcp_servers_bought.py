"""Purchases of calls of MCP servers: what a tool delivers is paid, what it fails at is not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent

from hansa.rooms.catalogue.pulls import HEALTH_CHECKS
from tests.conversations.mcp_client import McpClient
from tests.mcp_servers import McpHost, echo, imported, mcp_host
from tests.paying import Payments
from tests.registry import StartRegistry, TestRegistry
from tests.running_jobs import run_due


@dataclass
class Shop:
    """An agent that sells the tools of an MCP server, and its buyer."""

    server: McpHost
    payments: Payments

    @property
    def registry(self) -> TestRegistry:
        return self.payments.registry

    async def buy(self, status: int = 200, **members: Any) -> dict[str, Any]:
        call = {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "bonjour"}}}
        body = {
            "target_agent_did": self.payments.service.did,
            "request": call,
            "max_amount": "5",
            **members,
        }
        answer = await self.payments.post(
            "buy", self.payments.caller, {name: value for name, value in body.items() if value is not None}
        )
        assert answer.status_code == status, answer.text
        bought: dict[str, Any] = answer.json()
        return bought

    async def verify(self, heads: dict[str, str], **_: Any) -> None:
        """Verify the token of a call as a paid service does."""
        verified = await self.payments.verify(
            heads["x-payment-token"], target_agent_did=self.payments.service.did
        )
        assert verified["valid"], verified


@asynccontextmanager
async def open_shop(start_registry: StartRegistry, era: str) -> AsyncIterator[Shop]:
    async with mcp_host(refuses_modern=era == "legacy") as server:
        registry = await start_registry(outgoing_allow_user_hosts=server.place)
        owner = await registry.developer()
        interface = {"url": server.url, "protocolBinding": "MCP", "protocolVersion": "2025-11-25"}
        seller = await owner.agent(name="Echo", pricing={"base_rate": "2.5"}, supportedInterfaces=[interface])
        await imported(owner, server.server_json(), agent_did=seller.did)
        yield Shop(server, Payments(registry, await registry.agent(name="Caller"), seller))


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_delivered_call_is_paid_and_a_failed_one_is_released(start_registry, era: str):
    async with open_shop(start_registry, era) as shop:
        await _delivered_and_failed(shop)


async def _delivered_and_failed(shop: Shop) -> None:
    async def verified(heads: dict[str, str], arguments: dict[str, Any]) -> CallToolResult:
        await shop.verify(heads)
        return await echo(heads, arguments)

    async def failed(heads: dict[str, str], arguments: dict[str, Any]) -> CallToolResult:
        await shop.verify(heads)
        return CallToolResult(content=[TextContent(type="text", text="No.")], is_error=True)

    async def crashed(heads: dict[str, str], arguments: dict[str, Any]) -> CallToolResult:
        await shop.verify(heads)
        raise RuntimeError("crashed")

    before = await shop.payments.balances()
    shop.server.call = verified
    bought = await shop.buy()
    assert (bought["status"], bought["amount"], bought["reason"]) == ("settled", "2.5", None)
    assert bought["answer"]["result"]["content"] == [{"type": "text", "text": "bonjour"}]
    paid = await shop.payments.balances()
    assert paid == ("97.4875", "102.5") != before
    (heads,) = shop.server.heads
    assert heads["x-payment-token"].startswith("apt_")
    assert heads["x-payment-issuer"] == shop.registry.settings.base_url
    assert "apt_" not in str(bought)

    for call, reason in ((failed, "tool_error"), (crashed, None)):
        shop.server.call = call
        unpaid = await shop.buy()
        assert unpaid["status"] == "released", unpaid
        assert unpaid["reason"] == reason or reason is None
        assert await shop.payments.balances() == paid
    assert (await shop.registry.supply())["delta"] == "0"

    # A server that stays silent is not paid, unless the buyer says so and the token was verified.
    silent = asyncio.Event()

    async def waits(heads: dict[str, str], arguments: dict[str, Any]) -> CallToolResult:
        await shop.verify(heads)
        await silent.wait()
        return await echo(heads, arguments)

    shop.server.call = waits
    for settles, status in ((False, "released"), (True, "settled")):
        ended = await shop.buy(timeout_seconds=1, settle_on_timeout=settles)
        assert (ended["status"], ended["reason"]) == (status, "timeout"), ended
    silent.set()


async def test_an_mcp_server_takes_a_call_of_a_tool_and_nothing_else(start_registry):
    async with open_shop(start_registry, "modern") as shop:
        await _nothing_else(shop)


async def _nothing_else(shop: Shop) -> None:
    before = await shop.payments.balances()
    for members in (
        {"request": None, "message": "good morning"},
        {"request": {"method": "tools/list", "params": {}}},
        {"request": {"method": "tools/call", "params": {}}},
        {"request": {"method": "tools/call", "params": {"name": "two words"}}},
        {"request": {"method": "tools/call", "params": {"name": "echo", "arguments": []}}},
    ):
        refused = await shop.buy(422, **members)
        assert refused["error"]["code"] == "SERVICE_NOT_CALLABLE", refused
        assert "tools/call" in refused["error"]["detail"]
    assert shop.server.heads == []
    assert await shop.payments.balances() == before


async def test_tools_of_a_server_are_tools_at_the_address_of_its_agent(start_registry):
    async with open_shop(start_registry, "modern") as shop:
        await run_due(shop.registry.runtime, HEALTH_CHECKS)

        async def verified(heads: dict[str, str], arguments: dict[str, Any]) -> CallToolResult:
            await shop.verify(heads)
            return await echo(heads, arguments)

        shop.server.call = verified
        place = f"/mcp/agents/{shop.payments.service.did}"
        buyer = McpClient(shop.registry, shop.payments.caller.token, place)
        assert [tool["name"] for tool in await buyer.tools()] == ["echo"]
        asked = await buyer.done("echo", text="bonjour")
        assert (asked["status"], asked["price"]) == ("payment_required", "2.5")
        assert shop.server.heads == []
        bought = await buyer.done("echo", text="bonjour", hansa_intent=asked["intent"])
        assert bought["answer"]["result"]["content"] == [{"type": "text", "text": "bonjour"}]
        assert await shop.payments.balances() == ("97.4875", "102.5")
        other = await buyer.call("echo", text="salut", hansa_intent=asked["intent"])
        assert other["structuredContent"]["code"] == "INTENT_OF_OTHER_CALL"
        (heads,) = shop.server.heads
        assert "authorization" not in heads

        stranger = McpClient(shop.registry, None, place, headers=shop.registry.elsewhere())
        required = await stranger.call("echo", text="bonjour")
        assert required["isError"], required
        assert required["structuredContent"]["accepts"], required


async def test_a_free_tool_of_a_server_is_called_without_an_account(start_registry):
    async with mcp_host() as server:
        registry = await start_registry(outgoing_allow_user_hosts=server.place)
        owner = await registry.developer()
        interface = {"url": server.url, "protocolBinding": "MCP", "protocolVersion": "2025-11-25"}
        agent = await owner.agent(name="Echo", supportedInterfaces=[interface])
        await imported(owner, server.server_json(), agent_did=agent.did)
        await run_due(registry.runtime, HEALTH_CHECKS)
        stranger = McpClient(registry, None, f"/mcp/agents/{agent.did}", headers=registry.elsewhere())
        said = await stranger.done("echo", text="bonjour")
        assert said["answer"]["result"]["content"] == [{"type": "text", "text": "bonjour"}]
        assert "x-payment-token" not in server.heads[0]

        async def failed(heads: dict[str, str], arguments: dict[str, Any]) -> CallToolResult:
            return CallToolResult(content=[TextContent(type="text", text="No.")], is_error=True)

        server.call = failed
        assert (await stranger.call("echo", text="bonjour"))["isError"]
