"""Paid requests to a server of the official A2A SDK: those that send a message.

Both bindings over HTTP are covered, JSON-RPC (1.0 and 0.3) and HTTP+JSON. A repeated call of a client bears another
JSON-RPC id and may bear another message id: it is the same call, and its stored answer gets the id of the request. An answer that is an
error of JSON-RPC is failed work.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hansa_client.receipts import digest_of

from .requests import HttpRequest, Priced, Select, plain_path
from .terms import Order, fingerprint_of

PAID_METHODS = frozenset({"SendMessage", "SendStreamingMessage", "message/send", "message/stream"})
PAID_SUFFIXES = ("/message:send", "/message:stream")
OF_ONE_ATTEMPT = frozenset({"messageId", "message_id"})


def paid_messages(price: Decimal | None) -> Select:
    """Sending a message costs this; None is the price of the service."""

    def select(request: HttpRequest) -> Priced | None:
        content = _content_of(request)
        return None if content is None else Priced(price, _order_of(request, content), _is_error)

    return select


def _content_of(request: HttpRequest) -> Any:
    """Return the content that is paid for; None for a request that is free."""
    if request.method != "POST":
        return None
    body = _read(request.body)
    path = plain_path(request.path)
    if path.endswith(PAID_SUFFIXES):
        return [path.rpartition(":")[2], _same_in_every_attempt(body)]
    if isinstance(body, Mapping) and body.get("method") in PAID_METHODS:
        return [body["method"], _same_in_every_attempt(body.get("params"))]
    if isinstance(body, list) and any(
        isinstance(one, Mapping) and one.get("method") in PAID_METHODS for one in body
    ):
        return ["batch", body]
    return None


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _is_error(answer: bytes) -> bool:
    """An error of JSON-RPC has the status 200."""
    read = _read(answer)
    return isinstance(read, Mapping) and read.get("error") is not None and read.get("result") is None


def _same_in_every_attempt(params: Any) -> Any:
    if not isinstance(params, Mapping):
        return params
    message = params.get("message")
    if not isinstance(message, Mapping):
        return params
    kept = {name: value for name, value in message.items() if name not in OF_ONE_ATTEMPT}
    return {**params, "message": kept}


def _order_of(request: HttpRequest, content: Any) -> Order:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    skill = _skill_of(content)
    return Order(
        fingerprint=fingerprint_of(b"a2a", canonical),
        body_digest=digest_of(request.body),
        resources=frozenset({request.url, request.path, *([skill] if skill else [])}),
    )


def _skill_of(content: Any) -> str | None:
    """The skill that a message names in its metadata, where it does."""
    params = content[1]
    message = params.get("message") if isinstance(params, Mapping) else None
    metadata = message.get("metadata") if isinstance(message, Mapping) else None
    skill = metadata.get("skillId") if isinstance(metadata, Mapping) else None
    return skill if isinstance(skill, str) else None
