"""The health check of an agent: a request for a task that does not exist.

Every A2A server with JSON-RPC must answer it, with an error that says so; it starts no work, costs no money and reads
nobody's data. On the wire it is the poll of a task that this registry forwards for a client, byte for byte. A web server that
is no agent cannot answer it: a page, or an echo, is no answer to a question with an id.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from hansa.foundation.plumbing.web.bodies import BodyInvalid, parse_json
from hansa.foundation.values.web_address import read_web_address

from .records import Interface, Sign

JSON_RPC = "JSONRPC"
WANTS_CREDENTIALS = frozenset({401, 403})
TOO_MANY_REQUESTS = 429


class Question(msgspec.Struct, frozen=True):
    """A call to one interface; the answer carries `id`."""

    url: str
    id: str
    body: bytes
    headers: Mapping[str, str]


def question_to(interfaces: tuple[Interface, ...], unique: str, task: str) -> Question | None:
    """The question about a task to the first interface that speaks JSON-RPC in a version we know; None: no interface does."""
    for one in interfaces:
        if one.binding == JSON_RPC and read_web_address(one.url) and one.version[:2] in {"1.", "0."}:
            return _question(one, unique, task)
    return None


def liveness_of(question: Question, status: int, body: bytes, *, needs_credentials: bool) -> Sign:
    """Return the liveness that an answer shows. `needs_credentials`: the card says that its agent answers only callers with credentials."""
    if status in WANTS_CREDENTIALS and needs_credentials:
        return Sign("alive")
    if status == TOO_MANY_REQUESTS:
        return Sign(None)
    try:
        answer = parse_json(body)
    except BodyInvalid:
        return Sign("unreachable", f"The answer ({status}) is not JSON.")
    if _is_answer(answer, question.id):
        return Sign("alive")
    return Sign("unreachable", f"The answer ({status}) is not an A2A answer.")


def _question(interface: Interface, unique: str, task: str) -> Question:
    is_old = interface.version.startswith("0.")
    asked = {
        "jsonrpc": "2.0",
        "id": unique,
        "method": "tasks/get" if is_old else "GetTask",
        "params": {"id": task},
    }
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if not is_old:
        headers["A2A-Version"] = "1.0"
    return Question(interface.url, unique, json.dumps(asked).encode(), headers)


def _is_answer(answer: Any, asked: str) -> bool:
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0" or answer.get("id") != asked:
        return False
    error = answer.get("error")
    is_error = isinstance(error, dict) and type(error.get("code")) is int
    return "result" in answer or is_error
