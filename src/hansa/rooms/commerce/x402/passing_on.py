"""Calls of agents for callers without an account: the payment is passed on to the agent, which captures it itself.

- The agent's price is stated as its requirements on both networks; a payment is read only as far as its form goes.
- A payment token of this registry goes on as X-Payment-Token, every other payment as PAYMENT-SIGNATURE.
- The receipt is the one of the agent; for a token of this registry it is read from the token.
- The agent's own requirements and its receipt are bounded, and read as data of a stranger.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hansa.foundation.plumbing.outgoing import OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.bodies import BodyInvalid, parse_json
from hansa.foundation.values.visible_text import seen
from hansa.rooms import catalogue
from hansa.rooms.commerce import payments

from . import judging
from .discovery import accepted_payments
from .judging import VERSION, PaymentInvalid
from .networks import Networks

PAYMENT_HEADER, REQUIRED_HEADER, RESPONSE_HEADER = (
    "PAYMENT-SIGNATURE",
    "payment-required",
    "payment-response",
)
HEADER_MAX_CHARACTERS = 16_384
TEXT_MAX = 1000
STATED = "Stated by the agent: "
PAYMENT_REQUIRED_STATUS = 402
MEDIA_TYPE = "application/json"


@dataclass(frozen=True)
class PresentedPayment:
    """A payment as it is passed on; `token` is set for one of this registry."""

    headers: Mapping[str, str] = field(repr=False)
    token: str | None = field(default=None, repr=False)


class PassedOn(msgspec.Struct, frozen=True):
    """Answer of an agent. `is_refused`: it does not accept the payment; `required` are its own terms, where it states any."""

    answer: payments.ServiceAnswer
    receipt: dict[str, Any] | None = None
    is_refused: bool = False
    required: dict[str, Any] | None = None


async def presented(database: Database, payment: Any, payee: str, networks: Networks) -> PresentedPayment:
    """A `PaymentPayload` of version 2, as an object or its JSON. A token for another payee is not passed on.

    Raises: PaymentInvalid.
    """
    if isinstance(payment, str):
        payment = _parsed(payment)
    accepted = payment.get("accepted") if isinstance(payment, dict) else None
    if not isinstance(payment, dict) or payment.get("x402Version") != VERSION:
        raise PaymentInvalid("invalid_x402_version", f"x402Version must be {VERSION}.")
    if not isinstance(accepted, dict) or not isinstance(payment.get("payload"), dict):
        raise PaymentInvalid(judging.INVALID_PAYLOAD, "A payment has accepted and payload, both objects.")
    if accepted.get("network") == networks.native:
        secret = judging.read_native(payment, networks).token
        token = await database.query(lambda tx: payments.token_of_secret(tx, secret))
        if token is None or token.payee != payee:
            raise PaymentInvalid(judging.INVALID_PAYLOAD, "payload.token is no payment token for this agent.")
        return PresentedPayment(payments.token_headers(secret, networks.authority), secret)
    encoded = b64encode(json.dumps(payment, separators=(",", ":")).encode()).decode()
    if len(encoded) > HEADER_MAX_CHARACTERS:
        raise PaymentInvalid(judging.INVALID_PAYLOAD, "The payment is too large.")
    return PresentedPayment({PAYMENT_HEADER: encoded})


def payment_required(
    card: catalogue.Card, resource: Mapping[str, Any], networks: Networks, error: str
) -> dict[str, Any]:
    """`PaymentRequired` by the price on the card; it accepts nothing where the price is in another currency."""
    assert card.did is not None
    stated = catalogue.declared_price(card.card_data or {})
    accepts = accepted_payments(card.did, stated, networks)
    return {
        "x402Version": VERSION,
        "error": error,
        "resource": {**resource, "mimeType": MEDIA_TYPE},
        "accepts": [one.model_dump(by_alias=True) for one in accepts],
    }


async def pass_on(runtime: Runtime, call: payments.ServiceCall, token: str | None = None) -> PassedOn:
    """Call an agent and read its answer; `token` is the payment token that the call carries. No transaction is open."""
    try:
        if call.interface.is_mcp:
            delivered = await payments.call_tool(runtime.outgoing, call)
            return PassedOn(delivered, await _receipt(runtime, token, {}))
        answer = await payments.call_service(runtime.outgoing, call)
    except OutgoingTrouble as error:
        unknown = payments.ServiceAnswer(payments.Outcome.UNKNOWN, trouble=error.reason)
        return PassedOn(unknown, await _receipt(runtime, token, {}))
    read = payments.read_answer(answer)
    receipt = await _receipt(runtime, token, answer.headers)
    if answer.status != PAYMENT_REQUIRED_STATUS:
        return PassedOn(read, receipt)
    required = _terms(_members_of(answer.headers.get(REQUIRED_HEADER)))
    return PassedOn(read, receipt, is_refused=True, required=required)


async def _receipt(runtime: Runtime, secret: str | None, headers: Mapping[str, str]) -> dict[str, Any] | None:
    """The `SettlementResponse` of a payment, or None where nothing is known of it."""
    if secret is None:
        return _members_of(headers.get(RESPONSE_HEADER))
    token = await runtime.database.query(lambda tx: payments.token_of_secret(tx, secret))
    assert token is not None, "tokens are not deleted"
    receipt: dict[str, Any] = {
        "success": token.status == "settled",
        "transaction": token.settlement_tx_id or "",
        "network": Networks.of(runtime.settings).native,
        "payer": token.caller,
    }
    if token.status == "settled":
        return {**receipt, "amount": str(token.paid)}
    is_pending = token.status in {*payments.OPEN, "settling"}
    return {**receipt, "errorReason": judging.SETTLEMENT_PENDING if is_pending else "nothing_captured"}


def _members_of(header: str | None) -> dict[str, Any] | None:
    """The object in a header of x402; None where there is none, or it is unreadable."""
    if header is None or len(header) > HEADER_MAX_CHARACTERS:
        return None
    try:
        members = parse_json(b64decode(header, validate=True))
    except (ValueError, BodyInvalid):
        return None
    return members if isinstance(members, dict) else None


def _terms(stated: dict[str, Any] | None) -> dict[str, Any] | None:
    """`PaymentRequired` of an agent with its texts cut and marked; None where it is none."""
    if stated is None or stated.get("x402Version") != VERSION:
        return None
    accepts, resource = stated.get("accepts"), stated.get("resource")
    if not isinstance(accepts, list) or not all(isinstance(one, dict) for one in accepts):
        return None
    shown = resource if isinstance(resource, dict) else {}
    members = {name: _text(shown[name]) for name in ("url", "mimeType") if isinstance(shown.get(name), str)}
    if isinstance(shown.get("description"), str):
        members["description"] = STATED + _text(shown["description"])
    error = stated.get("error")
    return {
        "x402Version": VERSION,
        "error": STATED + _text(error)
        if isinstance(error, str)
        else "The agent did not accept this payment.",
        "resource": members,
        "accepts": accepts,
    }


def _text(text: str) -> str:
    return seen(text)[:TEXT_MAX]


def _parsed(text: str) -> Any:
    if len(text) > HEADER_MAX_CHARACTERS:
        raise PaymentInvalid(judging.INVALID_PAYLOAD, "The payment is too large.")
    try:
        return parse_json(text.encode())
    except BodyInvalid:
        raise PaymentInvalid(judging.INVALID_PAYLOAD, "The payment is not JSON.") from None
