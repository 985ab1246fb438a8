"""Calls and lists of the handshake revisions, served without the streams of a session.

A request here is one message and one answer: a session that the SDK makes for it (three tasks, three streams) carries nothing
else, and costs more than the tool. Only a request that the SDK would pass to its handler unchanged is served here; every
other message, each error of form among them, is the SDK's.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec
import pydantic_core
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

METHODS = frozenset({"tools/call", "tools/list"})
JSON = "application/json"


class SingleExchange(msgspec.Struct):
    """`DispatchContext` of the SDK for one request; nothing but its answer goes to the client."""

    request_id: int | str
    message_metadata: ServerMessageMetadata
    transport: TransportContext
    cancel_requested: Any = None
    can_send_request: bool = False

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> NoReturn:
        """Raises: NoBackChannelError."""
        del params, opts
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Drop a notification: an answer in one piece has no place for it."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop a report of progress, as `notify` does."""


def single_request(request: Request, body: bytes) -> JSONRPCRequest | None:
    """The request in the body where it can be served here, else None."""
    versions = request.headers.getlist(MCP_PROTOCOL_VERSION_HEADER)
    if len(versions) > 1 or not set(versions) <= set(HANDSHAKE_PROTOCOL_VERSIONS):
        return None
    accepts_json, _ = check_accept_headers(request)
    if not accepts_json or request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
        return None
    try:
        message = JSONRPCRequest.model_validate(pydantic_core.from_json(body), by_name=False)
    except (ValueError, ValidationError):
        return None
    return message if message.method in METHODS else None


async def serve_single(
    server: "Server[dict[str, Any]]", request: Request, message: JSONRPCRequest
) -> Response:
    """The answer to the request."""
    version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
    exchange = SingleExchange(
        message.id,
        ServerMessageMetadata(request_context=request),
        TransportContext(kind="streamable-http", can_send_request=False),
    )
    connection = Connection.from_envelope(version, None, None)
    answer: JSONRPCResponse | JSONRPCError
    try:
        result = await serve_one(
            server, exchange, message.method, message.params, connection=connection, lifespan_state={}
        )
        answer = JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)
    except Exception as error:  # noqa: BLE001
        answer = JSONRPCError(jsonrpc="2.0", id=message.id, error=modern_error_data(error))
    return Response(answer.model_dump_json(by_alias=True, exclude_unset=True), media_type=JSON)
