"""The JSON-RPC message of a request, as far as it is read before the SDK: the tool that it calls and the scopes that it needs."""

from typing import Any

import msgspec

from hansa.foundation.plumbing.web.bodies import BodyInvalid, parse_json

from . import gateway

PAYMENT_META = "x402/payment"
PARSE_ERROR, INVALID_REQUEST = -32700, -32600


class BadMessage(Exception):
    """The body is no JSON-RPC message that is taken here."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message

    @property
    def content(self) -> dict[str, Any]:
        """The JSON-RPC error."""
        return {"jsonrpc": "2.0", "id": None, "error": {"code": self.code, "message": self.message}}


class Envelope(msgspec.Struct, frozen=True):
    """A message; `tool` is the tool that a tools/call means, also through the gateway, `payment` its payment of x402."""

    body: bytes
    method: str | None
    tool: str | None
    payment: Any = None


def read_envelope(body: bytes, *, is_gateway: bool) -> Envelope:
    """Raises: BadMessage."""
    try:
        message = parse_json(body)
    except BodyInvalid as error:
        raise BadMessage(PARSE_ERROR, error.detail) from None
    if isinstance(message, list):
        raise BadMessage(INVALID_REQUEST, "Batches are not accepted: send one message in each request.")
    if not isinstance(message, dict):
        raise BadMessage(INVALID_REQUEST, "The body must be one JSON-RPC message.")
    method = message.get("method")
    if method != "tools/call":
        return Envelope(body, method if isinstance(method, str) else None, None)
    params = _members(message.get("params"))
    payment = _members(params.get("_meta")).get(PAYMENT_META)
    if is_gateway and params.get("name") == gateway.CALL:
        params = _members(params.get("arguments"))
    name = params.get("name")
    return Envelope(body, method, name if isinstance(name, str) else None, payment)


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
