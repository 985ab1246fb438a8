"""Requests to the tools of a registry, as plain JSON-RPC messages."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import httpx2

from hansa.doors.mcp import PROTOCOL
from tests.registry import TestRegistry

HANDSHAKE_REVISION, MODERN_REVISION = "2025-11-25", "2026-07-28"
_ids = itertools.count(1)


@dataclass
class McpClient:
    """A client of one address, with a bearer or without."""

    registry: TestRegistry
    token: str | None = None
    path: str = "/mcp"
    revision: str = HANDSHAKE_REVISION
    headers: dict[str, str] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        """Send one message, or other content as it is."""
        await PROTOCOL.of(self.registry.runtime).load()
        fields = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": self.revision,
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
            **self.headers,
            **headers,
        }
        body = {"content": message} if isinstance(message, bytes) else {"json": message}
        return await self.registry.http.post(self.path, headers=fields, **body)

    async def send(self, method: str, params: dict[str, Any] | None = None) -> httpx2.Response:
        """Send a request."""
        stated = dict(params or {})
        headers = {}
        if self.revision == MODERN_REVISION:
            stated["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            }
            headers = {"Mcp-Method": method}
            if "name" in stated:
                headers["Mcp-Name"] = stated["name"]
        return await self.post(
            {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": stated}, **headers
        )

    async def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request."""
        answer = await self.send(method, params)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    async def tools(self) -> list[dict[str, Any]]:
        """The listed tools."""
        return (await self.result("tools/list"))["tools"]

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool; `as_` is the argument `as`."""
        if "as_" in arguments:
            arguments["as"] = arguments.pop("as_")
        return await self.result("tools/call", {"name": name, "arguments": arguments})

    async def content(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured content of a tool that succeeds."""
        result = await self.call(name, **arguments)
        assert not result["isError"], result["structuredContent"]
        return result["structuredContent"]

    async def done(self, name: str, /, **arguments: Any) -> Any:
        """The answer of the route behind a tool that succeeds."""
        return (await self.content(name, **arguments))["result"]

    async def refused(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The refusal of a tool."""
        result = await self.call(name, **arguments)
        assert result["isError"], result["structuredContent"]
        return result["structuredContent"]
