"""Messages of the Model Context Protocol as a client writes and reads them. No I/O.

A server of the revision 2026-07-28 answers `server/discover`, and each request states its revision. An older one answers `initialize`; what
it says there, and its session, are stated by the requests after it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import hansa
from hansa.foundation.plumbing.outgoing import Answer
from hansa.foundation.plumbing.web.bodies import BodyInvalid, parse_json

from .server_json import REVISION

MODERN = "2026-07-28"
OLDER = ("2025-11-25", "2025-06-18", "2025-03-26")
SESSION = "mcp-session-id"
CLIENT = {"name": "hansa", "version": hansa.__version__}
DISCOVER, INITIALIZE, INITIALIZED = "server/discover", "initialize", "notifications/initialized"
LIST_TOOLS, CALL_TOOL = "tools/list", "tools/call"
EVENT_STREAM = "text/event-stream"
SESSION_MAX_CHARACTERS = 1024
UNAUTHORIZED = 401
METADATA = "resource_metadata"


@dataclass(frozen=True)
class Spoken:
    """Revision that a server speaks, its session, and its capabilities."""

    revision: str
    capabilities: Mapping[str, Any] = field(repr=False)
    session: str | None = field(repr=False, default=None)

    @property
    def is_modern(self) -> bool:
        """Return whether each request states the revision by itself."""
        return self.revision == MODERN


@dataclass(frozen=True)
class Message:
    """A message of a client: its body, and its headers beside the usual ones."""

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


PROBE = Spoken(MODERN, {})
"""State of a client that asks for the newest revision."""
GREETING = Spoken("", {})
"""State of a client that initializes a server of an older revision."""


def request(spoken: Spoken, id_: str, method: str, params: Mapping[str, Any]) -> Message:
    """Return a request, with the revision and the session where the server wants them."""
    written = {**params, "_meta": _meta(params)} if spoken.is_modern else params
    headers = _headers(spoken)
    if spoken.is_modern:
        headers["Mcp-Method"] = method
        if method == CALL_TOOL:
            headers["Mcp-Name"] = str(params.get("name"))
    body = {"jsonrpc": "2.0", "id": id_, "method": method, "params": written}
    return Message(json.dumps(body).encode(), headers)


def initialize(id_: str) -> Message:
    """Return the first request to a server of an older revision."""
    params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": CLIENT}
    return request(GREETING, id_, INITIALIZE, params)


def initialized(spoken: Spoken) -> Message:
    """Return the notification that ends the beginning of a session."""
    body = {"jsonrpc": "2.0", "method": INITIALIZED}
    return Message(json.dumps(body).encode(), _headers(spoken))


def read_message(answer: Answer, id_: str) -> dict[str, Any] | None:
    """Return the JSON-RPC response with this id, of a body in JSON or of a stream of events; None: there is none."""
    is_stream = answer.headers.get("content-type", "").partition(";")[0].strip().lower() == EVENT_STREAM
    for text in _events(answer.body) if is_stream else (answer.body,):
        try:
            message = parse_json(text)
        except BodyInvalid:
            continue
        is_response = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
        if is_response and message.get("id") == id_ and ("result" in message or "error" in message):
            response: dict[str, Any] = message
            return response
    return None


def read_discovered(message: Mapping[str, Any] | None) -> Spoken | None:
    """Return the modern revision of a server that answers `server/discover` with it; None: it does not."""
    result = result_of(message)
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or MODERN not in versions:
        return None
    return Spoken(MODERN, _capabilities(result))


def read_initialized(message: Mapping[str, Any] | None, answer: Answer) -> Spoken | None:
    """Return the revision and the session of a server that answers `initialize`; None: it does not, or speaks another one."""
    result = result_of(message)
    revision, session = result.get("protocolVersion"), answer.headers.get(SESSION)
    if revision not in OLDER or not isinstance(result.get("capabilities"), dict):
        return None
    if session is not None and not (
        session.isascii() and session.isprintable() and len(session) <= SESSION_MAX_CHARACTERS
    ):
        return None
    return Spoken(str(revision), _capabilities(result), session)


def wants_credentials(answer: Answer) -> bool:
    """Return whether the server asks for credentials as MCP has it: with the address of its metadata."""
    return answer.status == UNAUTHORIZED and METADATA in answer.headers.get("www-authenticate", "")


def result_of(message: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the result of a response; empty where it has none, or an error."""
    result = message.get("result") if message and message.get("error") is None else None
    return result if isinstance(result, dict) else {}


def _capabilities(result: Mapping[str, Any]) -> dict[str, Any]:
    stated = result.get("capabilities")
    return stated if isinstance(stated, dict) else {}


def _meta(params: Mapping[str, Any]) -> dict[str, Any]:
    given = params.get("_meta")
    return {
        **(given if isinstance(given, dict) else {}),
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def _headers(spoken: Spoken) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": f"application/json, {EVENT_STREAM}"}
    if spoken.revision:
        headers["MCP-Protocol-Version"] = spoken.revision
    if spoken.session is not None:
        headers["Mcp-Session-Id"] = spoken.session
    return headers


def _events(body: bytes) -> list[bytes]:
    """The data of each event of a stream."""
    events: list[bytes] = []
    data: list[bytes] = []
    for line in [*body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), b""]:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            events.append(b"\n".join(data))
            data = []
    return events
