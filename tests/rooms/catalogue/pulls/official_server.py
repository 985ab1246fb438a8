"""An agent on the official A2A server package, for tests of the answers of a stock server."""

import sys
from types import ModuleType
from typing import Any

import pytest
from starlette.applications import Starlette


def official_agent(monkeypatch: pytest.MonkeyPatch, card: dict[str, Any]) -> Starlette:
    """The package's own application with its JSON-RPC route at `/a2a`, in versions 1.0 and 0.3, and its card."""
    # The package imports a library for streams at its head. Nothing streams here, and the library is not installed.
    streams = ModuleType("sse_starlette.sse")
    streams.EventSourceResponse = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sse_starlette", ModuleType("sse_starlette"))
    monkeypatch.setitem(sys.modules, "sse_starlette.sse", streams)
    from a2a.client.card_resolver import parse_agent_card
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore

    class Idle(AgentExecutor):
        async def execute(self, context: Any, event_queue: Any) -> None:
            raise AssertionError("a health check starts no work")

        async def cancel(self, context: Any, event_queue: Any) -> None:
            raise AssertionError("a health check cancels no work")

    message = parse_agent_card(card)
    handler = DefaultRequestHandler(Idle(), InMemoryTaskStore(), message)
    return Starlette(
        routes=[
            *create_jsonrpc_routes(handler, "/a2a", enable_v0_3_compat=True),
            *create_agent_card_routes(message),
        ]
    )
