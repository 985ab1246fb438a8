"""The tools by the client of the protocol's own SDK, over HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from hansa.doors.mcp import PROTOCOL
from hansa.doors.serving.listeners import listen
from hansa.doors.serving.serve import server_of
from tests.conversations.test_buying import RESULT, Service, service
from tests.registry import TestRegistry

__all__ = ["service"]


@asynccontextmanager
async def served(registry: TestRegistry, at: socket.socket | None = None) -> AsyncIterator[str]:
    """The address of the registry while it serves, at a socket that listens or at a new one."""
    listener = at or listen("127.0.0.1", 0)
    server = server_of(registry.app)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def session_of(address: str, token: str | None) -> AsyncIterator[ClientSession]:
    """A session of the SDK's client."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        streamable_http_client(address, http_client=http) as (read, write),
        ClientSession(read, write) as session,
    ):
        yield session


async def called(session: ClientSession, name: str, **arguments: Any) -> Any:
    result = await session.call_tool(name, arguments)
    assert not result.is_error, result.structured_content
    return result.structured_content["result"]


async def test_the_sdk_finds_previews_and_buys(service: Service):
    registry = service.payments.registry
    await PROTOCOL.of(registry.runtime).load()
    await registry.indexed()
    async with (
        served(registry) as address,
        session_of(f"{address}/mcp", service.payments.caller.token) as session,
    ):
        started = await session.initialize()
        assert started.server_info.name == "hansa"
        assert "buy_call" in [tool.name for tool in (await session.list_tools()).tools]
        found = await called(session, "find_agents", q="Service", answerable_only=False)
        payee = next(one["did"] for one in found["results"] if one["name"] == "Service")
        preview = await called(session, "preview_call", agent=payee, message="good morning")
        bought = await called(session, "buy_call", intent=preview["intent"])
        assert (bought["status"], bought["answer"]["result"]) == ("settled", RESULT)
        assert await called(session, "buy_call", intent=preview["intent"]) == bought
        assert (await called(session, "read_balance"))["balance"] == "97.4875"


async def test_the_sdk_reads_the_public_tools_without_a_credential(service: Service):
    registry = service.payments.registry
    await PROTOCOL.of(registry.runtime).load()
    async with served(registry) as address, session_of(f"{address}/mcp/public", None) as session:
        await session.initialize()
        assert [tool.name for tool in (await session.list_tools()).tools] == [
            "find_agents",
            "read_agent",
            "read_registry",
            "verify",
        ]
        assert (await called(session, "read_agent", agent=service.payments.service.did))["name"] == "Service"


async def test_the_sdk_is_refused_without_a_credential(service: Service):
    registry = service.payments.registry
    async with served(registry) as address, httpx2.AsyncClient() as http:
        answer = await http.post(f"{address}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert answer.status_code == 401
