"""A client of the Model Context Protocol, the SDK's own, connects with an agent's credentials, finds the service, and pays for a call."""

import asyncio
from typing import Any

import httpx2
import msgspec
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from hansa.doors.demo.client import UNAVAILABLE, DemoAgent, DemoClient, DemoFailed
from hansa.doors.demo.screen import Screen

NOT_FOUND = 404
LOADING_SECONDS_MAX = 60
REQUEST_SECONDS = 90
TEXT = "good evening"
SETTLED = "settled"
NOT_CALLABLE = "SERVICE_NOT_CALLABLE"


class Shopping(msgspec.Struct, frozen=True):
    """The agent that the client acts as, and the service that it is to find, at the registry at `url`."""

    url: str
    client: DemoClient
    screen: Screen
    payer: DemoAgent
    service: DemoAgent


async def buy_through_tools(shopping: Shopping) -> str | None:
    """Find, preview and buy a call by the tools of `/mcp`, and repeat the payment.

    Returns the transaction of the payment; None where this registry offers no tools, or calls no service on this machine.

    Raises: DemoFailed.
    """
    token = await _access_token(shopping)
    if token is None:
        shopping.screen.line("left out: the tools for models are disabled (MCP_ENABLED)")
        return None
    http = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {token}"},
        transport=WaitsForTools(),
        timeout=REQUEST_SECONDS,
        trust_env=False,
    )
    try:
        async with (
            http,
            streamable_http_client(f"{shopping.url}/mcp", http_client=http) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            shopping.screen.line(f"connected to /mcp with an agent's credentials: {len(tools)} tools")
            return await _bought(session, shopping)
    except ExceptionGroup as group:
        # The SDK wraps all that is raised while its tasks run.
        raise _first_of(group) from None


class ToolRefused(DemoFailed):
    """A tool was refused, with a stable code."""

    def __init__(self, name: str, content: dict[str, Any]) -> None:
        super().__init__(f"the tool {name} was refused: {content.get('detail')}")
        self.code = content.get("code")


class WaitsForTools(httpx2.AsyncHTTPTransport):
    """A network that repeats a request while a process of the registry loads its tools, in the first seconds of its life."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it until it is answered otherwise."""
        for _ in range(LOADING_SECONDS_MAX):
            response = await super().handle_async_request(request)
            if response.status_code != UNAVAILABLE:
                return response
            await response.aclose()
            await asyncio.sleep(1)
        return await super().handle_async_request(request)


async def _access_token(shopping: Shopping) -> str | None:
    """A token for `/mcp` alone, by the client credentials of the agent; None where there are no tools."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    if (await shopping.client.send("/mcp", ping, {})).status_code == NOT_FOUND:
        return None
    form = {
        "grant_type": "client_credentials",
        "client_id": shopping.payer.client_id,
        "client_secret": shopping.payer.client_secret,
        "resource": f"{shopping.url}/mcp",
    }
    issued = await shopping.client.ask("POST", "/oauth/token", data=form)
    token: str = issued.json()["access_token"]
    return token


async def _bought(session: ClientSession, shopping: Shopping) -> str | None:
    screen, service = shopping.screen, shopping.service
    found = await _called(session, "find_agents", q=service.name, answerable_only=False)
    if service.did not in [one["did"] for one in found["results"]]:
        raise DemoFailed(f"find_agents does not find {service.name}")
    priced = await _called(session, "preview_call", agent=service.did, message=TEXT)
    screen.line(f"found {service.name}; the preview costs nothing: {priced['total']} with the fee")
    try:
        bought = await _called(session, "buy_call", intent=priced["intent"])
    except ToolRefused as refused:
        if refused.code != NOT_CALLABLE:
            raise
        screen.line("left out: this registry calls no service on this machine (OUTGOING_ALLOW_USER_HOSTS)")
        return None
    if bought["status"] != SETTLED:
        raise DemoFailed(f"a call that was bought is {bought['status']}: {bought['reason']}")
    again = await _called(session, "buy_call", intent=priced["intent"])
    if again != bought:
        raise DemoFailed("a repeated payment of an intent was answered otherwise")
    [part] = bought["answer"]["result"]["message"]["parts"]
    screen.line(f'bought a call for {bought["amount"]}: "{part["text"]}"; the repeated payment moved nothing')
    transaction: str = bought["settlement_tx_id"]
    return transaction


async def _called(session: ClientSession, name: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool. Raises: ToolRefused."""
    answer = await session.call_tool(name, arguments)
    content = answer.structured_content or {}
    if answer.is_error:
        raise ToolRefused(name, content)
    result: dict[str, Any] = content["result"]
    return result


def _first_of(group: ExceptionGroup[Any]) -> Exception:
    """The failure in a group, in the words of the demo where it is one of the protocol."""
    first: Exception = group.exceptions[0]
    if isinstance(first, ExceptionGroup):
        return _first_of(first)
    return DemoFailed(f"/mcp failed: {first}") if isinstance(first, MCPError) else first
