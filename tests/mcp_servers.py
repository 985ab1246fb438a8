"""MCP servers outside the registry, played by tests: by the official SDK, or by words of a test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

from hansa.doors.serving.listeners import listen
from tests.registry import TestDeveloper

Call = Callable[[dict[str, str], dict[str, Any]], Awaitable[CallToolResult]]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def echo(_: dict[str, str], arguments: dict[str, Any]) -> CallToolResult:
    """Answer with the text that was sent."""
    return CallToolResult(content=[TextContent(type="text", text=arguments["text"])])


@dataclass
class McpHost:
    """A server by the SDK: `tools` by name with their descriptions, `heads` of the calls of tools, `ended` sessions."""

    port: int = 0
    tools: dict[str, str] = field(default_factory=lambda: {"echo": "Says the text again."})
    call: Call = echo
    heads: list[dict[str, str]] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    refuses_modern: bool = False

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}/mcp"

    def server_json(self, name: str = "com.example/echo", **members: Any) -> dict[str, Any]:
        """The server.json of this server."""
        remote = {"type": "streamable-http", "url": self.url}
        return {"name": name, "description": "Echoes.", "version": "1.0.0", "remotes": [remote], **members}

    async def list_tools(self, *_: Any) -> ListToolsResult:
        shown = [Tool(name=name, description=text, input_schema=SCHEMA) for name, text in self.tools.items()]
        return ListToolsResult(tools=shown)

    async def call_tool(self, context: Any, params: Any) -> CallToolResult:
        self.heads.append(dict(context.request.headers))
        return await self.call(self.heads[-1], params.arguments or {})


@asynccontextmanager
async def mcp_host(
    *, stateless: bool = False, json_response: bool = False, refuses_modern: bool = False
) -> AsyncIterator[McpHost]:
    """A server that listens; `refuses_modern`: it knows the revisions before 2026-07-28 alone."""
    playing = McpHost(refuses_modern=refuses_modern)
    server: Server[Any] = Server(
        "echo", version="1", on_list_tools=playing.list_tools, on_call_tool=playing.call_tool
    )
    manager = StreamableHTTPSessionManager(server, json_response=json_response, stateless=stateless)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        playing.requests.append((scope["method"], headers.get("mcp-method", "")))
        if playing.refuses_modern and headers.get("mcp-protocol-version") == "2026-07-28":
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b"Bad Request: no session"})
            return
        await manager.handle_request(scope, receive, send)

    listener = listen("127.0.0.1", 0)
    playing.port = listener.getsockname()[1]
    serving = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="error"))
    async with manager.run():
        task = asyncio.create_task(serving.serve(sockets=[listener]))
        try:
            yield playing
        finally:
            serving.should_exit = serving.force_exit = True
            await task


async def imported(owner: TestDeveloper, document: dict[str, Any], **members: Any) -> dict[str, Any]:
    """The card of an imported server."""
    body = {"server_json": document, **members}
    answer = await owner.registry.post("/agent-cards/import-mcp", json=body, headers=owner.headers)
    assert answer.status_code == 201, answer.text
    card: dict[str, Any] = answer.json()
    return card
