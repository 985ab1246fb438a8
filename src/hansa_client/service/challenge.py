"""Answer of a service to a call that is not paid: a problem document, and the requirements of x402 version 2."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .refusals import Outcome, Refused
from .terms import Captures, Facts, Presented, Terms

TOKEN_HEADER = "x-payment-token"  # noqa: S105
ISSUER_HEADER = "x-payment-issuer"
OUTCOME_HEADER = "x-payment-outcome"
X402_REQUIRED_HEADER = "payment-required"
X402_PAYMENT_HEADER = "payment-signature"
X402_RESPONSE_HEADER = "payment-response"
X402_VERSION = 2
X402_MAX_BYTES = 16_384
TOKEN_SECONDS_MAX = 900


@dataclass(frozen=True)
class X402Network:
    """The native network of a registry, as `/x402/supported` states it."""

    network: str
    extra: Mapping[str, Any]


@dataclass(frozen=True)
class Challenge:
    """The terms of one call, as every kind of client reads them."""

    payee: str
    terms: Terms
    issuers: tuple[str, ...]
    captures: Captures
    resource: str
    x402: X402Network | None = None

    def payment(self) -> dict[str, Any]:
        """The member `payment` of the problem document."""
        return {
            "payee": self.payee,
            "amount": format(self.terms.amount, "f"),
            "currency": self.terms.currency,
            "issuers": list(self.issuers),
            "capture_by": list(self.captures.stated),
            "reserved": self.captures.needs_reserve,
            "resource": self.resource,
        }

    def x402_required(self, error: str) -> dict[str, Any]:
        """`PaymentRequired` of x402 version 2; without a network it accepts nothing."""
        return {
            "x402Version": X402_VERSION,
            "error": error,
            "resource": {"url": self.resource},
            "accepts": [self.x402_requirements()] if self.x402 else [],
        }

    def x402_requirements(self) -> dict[str, Any]:
        """`PaymentRequirements` of the native network."""
        assert self.x402
        return {
            "scheme": "exact",
            "network": self.x402.network,
            "amount": str(self.terms.minor_units),
            "asset": self.terms.currency,
            "payTo": self.payee,
            "maxTimeoutSeconds": TOKEN_SECONDS_MAX,
            "extra": dict(self.x402.extra),
        }


def refusal_as_http(
    refused: Refused, challenge: Challenge | None
) -> tuple[int, list[tuple[str, str]], bytes]:
    """Status, headers and body of a refusal; a challenge is stated where a payment would help."""
    problem: dict[str, Any] = {
        "type": "about:blank",
        "title": refused.code.replace("_", " ").capitalize(),
        "status": refused.status,
        "detail": refused.detail,
        "code": refused.code,
    }
    headers = [("content-type", "application/problem+json"), ("cache-control", "no-store")]
    if refused.outcome:
        headers.append((OUTCOME_HEADER, refused.outcome.value))
    if refused.retry_after_seconds is not None:
        headers.append(("retry-after", str(refused.retry_after_seconds)))
    if refused.is_challenge and challenge:
        problem["payment"] = challenge.payment()
        if challenge.x402:
            headers.append((X402_REQUIRED_HEADER, encoded(challenge.x402_required(refused.detail))))
    return refused.status, headers, json.dumps(problem).encode()


def payment_headers(
    outcome: Outcome, facts: Facts, settlement_tx_id: str | None, challenge: Challenge
) -> list[tuple[str, str]]:
    """The headers of an answer that was paid for."""
    headers = [(OUTCOME_HEADER, outcome.value)]
    if facts.by_x402 and challenge.x402:
        headers.append(
            (X402_RESPONSE_HEADER, encoded(x402_receipt(outcome, facts, settlement_tx_id, challenge.x402)))
        )
    return headers


def x402_failure(refused: Refused, network: X402Network) -> tuple[str, str]:
    """The header `PAYMENT-RESPONSE` of a refused payment: nothing was settled."""
    failure = {
        "success": False,
        "errorReason": refused.code.lower(),
        "transaction": "",
        "network": network.network,
    }
    return X402_RESPONSE_HEADER, encoded(failure)


def x402_receipt(
    outcome: Outcome, facts: Facts, settlement_tx_id: str | None, network: X402Network
) -> dict[str, Any]:
    """`SettleResponse` of x402."""
    is_paid = settlement_tx_id is not None
    receipt: dict[str, Any] = {
        "success": is_paid,
        "transaction": settlement_tx_id or "",
        "network": network.network,
        "payer": facts.caller_did,
    }
    if not is_paid:
        receipt["errorReason"] = "work_failed" if outcome is Outcome.FAILED else "nothing_captured"
    return receipt


def encoded(members: Mapping[str, Any]) -> str:
    """An x402 header value."""
    return base64.b64encode(json.dumps(members).encode()).decode()


def presented_in(headers: Mapping[str, str]) -> Presented | None:
    """Return the payment in the headers of a request (names in lower case), or None; an unreadable x402 payment is an empty token."""
    token = headers.get(TOKEN_HEADER)
    if token is not None:
        return Presented(token.strip(), headers.get(ISSUER_HEADER))
    payment = headers.get(X402_PAYMENT_HEADER)
    if payment is None:
        return None
    try:
        return presented_by_x402(json.loads(base64.b64decode(payment[:X402_MAX_BYTES], validate=True)))
    except (binascii.Error, ValueError, RecursionError):
        return Presented("", None, by_x402=True)


def presented_by_x402(payment: object) -> Presented:
    """Return the token and the issuer in an x402 `PaymentPayload` of the native network."""
    payload = payment.get("payload") if isinstance(payment, Mapping) else None
    stated = payload if isinstance(payload, Mapping) else {}
    token, issuer = stated.get("token"), stated.get("issuer")
    return Presented(
        token if isinstance(token, str) else "", issuer if isinstance(issuer, str) else None, by_x402=True
    )
