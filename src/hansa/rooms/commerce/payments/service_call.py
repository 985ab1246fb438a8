"""Call of a service: the request, its headers, and the statements of the answer about the work. No I/O."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from hansa.foundation.plumbing.outgoing import Answer
from hansa.foundation.plumbing.web.bodies import BodyInvalid, parse_json
from hansa.foundation.values.web_address import read_web_address, why_closed
from hansa.rooms import catalogue

from .errors import ServiceNotCallable

JSON_RPC = "JSONRPC"
TOKEN_HEADER, ISSUER_HEADER, OUTCOME_HEADER = "X-Payment-Token", "X-Payment-Issuer", "x-payment-outcome"
# What these statuses say is not about the work: it may be under way, or done.
UNKNOWN_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
SUCCESSES = range(200, 300)
UNDONE = frozenset(
    {
        "failed",
        "rejected",
        "canceled",
        "TASK_STATE_FAILED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_CANCELED",
    }
)
TASK_ID_MAX_CHARACTERS = 1024
ASKS_FOR_MORE = "input_required"
ONLY_TOOLS = (
    "The agent is an MCP server: send request {method: tools/call, params: {name, arguments}}; a name has 1 to 128"
    " visible ASCII characters, arguments is an object."
)

_TOOL_NAME = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)


class Outcome(Enum):
    """Outcome of the work of a paid call."""

    DELIVERED = "delivered"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ServiceRequest:
    """Request that the buyer wants to be sent: a JSON-RPC method with its parameters, or a message of A2A."""

    method: str | None = None
    params: dict[str, Any] = field(default_factory=dict, repr=False)
    message: str | dict[str, Any] | None = field(default=None, repr=False)


class Interface(msgspec.Struct, frozen=True):
    """The address at which a service takes JSON-RPC; `is_mcp`: it is an MCP server, whose tools are called."""

    url: str
    is_old: bool
    is_mcp: bool = False


@dataclass(frozen=True)
class ServiceAnswer:
    """Answer of a service: its JSON, the task it names, and its statement about the work."""

    outcome: Outcome
    body: Any = field(default=None, repr=False)
    task_id: str | None = None
    trouble: str | None = None


def interface_of(
    card: dict[str, Any], allowed: Collection[str], request: ServiceRequest | None = None
) -> Interface:
    """The first interface of a card for a request, by default a message, at an address that may be called.

    A request `tools/call` goes to an MCP server before another interface, any other request to no MCP server. Raises: ServiceNotCallable.
    """
    listed = card.get("supportedInterfaces")
    interfaces = list(_callable(listed if isinstance(listed, list) else [], allowed))
    servers = [one for one in interfaces if one.is_mcp]
    others = [one for one in interfaces if not one.is_mcp]
    if request is not None and request.method == catalogue.CALL_TOOL and servers:
        if not _is_tool_call(request.params):
            raise ServiceNotCallable(ONLY_TOOLS)
        return servers[0]
    if not others:
        raise ServiceNotCallable(ONLY_TOOLS if servers else None)
    return others[0]


def _callable(listed: list[Any], allowed: Collection[str]) -> Iterator[Interface]:
    for one in listed:
        binding = str(one.get("protocolBinding", "")).upper() if isinstance(one, dict) else ""
        if binding not in {JSON_RPC, catalogue.MCP}:
            continue
        address = read_web_address(str(one.get("url", "")))
        version = str(one.get("protocolVersion", "1.0"))
        if address is None or why_closed(address, allowed) is not None:
            continue
        if binding == catalogue.MCP:
            yield Interface(address.url, is_old=False, is_mcp=True)
        elif version[:2] in {"1.", "0."}:
            yield Interface(address.url, version.startswith("0."))


def _is_tool_call(params: dict[str, Any]) -> bool:
    name = params.get("name")
    is_named = isinstance(name, str) and _TOOL_NAME.fullmatch(name) is not None
    return is_named and isinstance(params.get("arguments", {}), dict)


def body_for(interface: Interface, request: ServiceRequest, call_id: str) -> bytes:
    """The JSON-RPC request; `call_id` is its id, and that of a message given as text."""
    method, params = request.method, request.params
    if method is None:
        method = "message/send" if interface.is_old else "SendMessage"
        message = request.message
        if not isinstance(message, dict):
            message = message_for(interface, call_id, message, None)
        params = {"message": message}
    return json.dumps({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}).encode()


def token_headers(token: str, issuer: str) -> dict[str, str]:
    """The headers that carry a payment token."""
    return {TOKEN_HEADER: token, ISSUER_HEADER: issuer}


def headers_for(interface: Interface, payment: Mapping[str, str]) -> dict[str, str]:
    """The headers of the call, which carry the payment."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", **payment}
    return headers if interface.is_old else {**headers, "A2A-Version": "1.0"}


def read_answer(answer: Answer) -> ServiceAnswer:
    """Read an answer: by X-Payment-Outcome where it has one, else by its status and its JSON-RPC members."""
    try:
        body = parse_json(answer.body)
    except BodyInvalid:
        return ServiceAnswer(_outcome(answer, None), trouble="answer_unreadable")
    # With an error there is no result in JSON-RPC, whatever else the answer has.
    result = body.get("result") if isinstance(body, dict) and body.get("error") is None else None
    outcome = _outcome(answer, result)
    failure = None if outcome is Outcome.DELIVERED else f"status_{answer.status}"
    return ServiceAnswer(outcome, body, _task_of(result).get("id"), failure)


def read_tool_answer(reply: catalogue.Reply) -> ServiceAnswer:
    """Read the answer of an MCP server to `tools/call`: a result that is an error, or asks for more, is not delivered."""
    if reply.message is None:
        return ServiceAnswer(_outcome(reply.answer, None), trouble="answer_unreadable")
    result = reply.message.get("result") if reply.message.get("error") is None else None
    if isinstance(result, dict) and (result.get("isError") or result.get("resultType") == ASKS_FOR_MORE):
        return ServiceAnswer(Outcome.FAILED, reply.message, trouble="tool_error")
    outcome = _outcome(reply.answer, result)
    failure = None if outcome is Outcome.DELIVERED else f"status_{reply.answer.status}"
    return ServiceAnswer(outcome, reply.message, trouble=failure)


def _outcome(answer: Answer, result: Any) -> Outcome:
    declared = answer.headers.get(OUTCOME_HEADER)
    if declared in {Outcome.DELIVERED.value, Outcome.FAILED.value}:
        return Outcome(declared)
    if answer.status in UNKNOWN_STATUSES:
        return Outcome.UNKNOWN
    is_done = result is not None and _state_of(result) not in UNDONE
    return Outcome.DELIVERED if answer.status in SUCCESSES and is_done else Outcome.FAILED


def _state_of(result: Any) -> str | None:
    status = _task_of(result).get("status")
    state = status.get("state") if isinstance(status, dict) else None
    return state if isinstance(state, str) else None


def _task_of(result: Any) -> dict[str, Any]:
    """The task in a result of either version of A2A, with an id that can be kept; empty where there is none."""
    if not isinstance(result, dict):
        return {}
    task = result.get("task") if isinstance(result.get("task"), dict) else result
    if not isinstance(task, dict) or "status" not in task:
        return {}
    task_id = task.get("id")
    is_kept = isinstance(task_id, str) and 0 < len(task_id) <= TASK_ID_MAX_CHARACTERS
    return task if is_kept else {**task, "id": None}


def message_for(
    interface: Interface, message_id: str, text: str | None, data: dict[str, Any] | None, **more: Any
) -> dict[str, Any]:
    """A message of A2A with a text, an object, or both, as the service reads it; `more` are further members."""
    contents = {name: part for name, part in (("text", text), ("data", data)) if part is not None}
    if interface.is_old:
        parts: list[dict[str, Any]] = [{"kind": name, name: part} for name, part in contents.items()]
        return {"kind": "message", "messageId": message_id, "role": "user", "parts": parts, **more}
    parts = [{name: part} for name, part in contents.items()]
    return {"messageId": message_id, "role": "ROLE_USER", "parts": parts, **more}
