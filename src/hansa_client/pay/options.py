"""How one call is paid: stated in the `extensions` of its request."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2

from hansa_client.amounts import Amount, amount_text

EXTENSION = "hansa_pay"
TTL_SECONDS = 900
RESERVED = "caller, reserved"
"""The `capture_by` of a journaled payment that the caller settles and whose amount is reserved."""


@dataclass(frozen=True)
class PayOptions:
    """Options of the caller for one call."""

    max_amount: Decimal | None = None
    payee: str | None = None
    call_id: str | None = None
    capture_by: str | None = None
    ttl_seconds: int = TTL_SECONDS
    is_paid: bool = True


def paying(
    *,
    max_amount: Amount | None = None,
    payee: str | None = None,
    call_id: str | None = None,
    capture_by: str | None = None,
    ttl_seconds: int = TTL_SECONDS,
    is_paid: bool = True,
) -> dict[str, Any]:
    """`extensions` for a request: `client.post(url, json=…, extensions=paying(max_amount="0.10"))`.

    With `payee` the price is read from that agent's signed card and paid before the call is sent, without asking the
    service first. `call_id` names the call: a call of the same name is paid at most once, at any later time. With
    `is_paid` False a 402 is returned as it is.
    """
    limit = None if max_amount is None else Decimal(amount_text(max_amount))
    return {EXTENSION: PayOptions(limit, payee, call_id, capture_by, ttl_seconds, is_paid)}


def token_kind(capture_by: str) -> dict[str, Any]:
    """The members `capture_by` and `reserve` of the token of a journaled payment."""
    if capture_by == RESERVED:
        return {"capture_by": None, "reserve": True}
    return {"capture_by": None if capture_by == "caller" else capture_by, "reserve": None}


def options_of(extensions: Mapping[str, Any]) -> PayOptions:
    """The options of a request."""
    stated = extensions.get(EXTENSION)
    return stated if isinstance(stated, PayOptions) else PayOptions()


def fingerprint_of(request: httpx2.Request) -> str:
    """The same for the same call: method, address and body, not the headers."""
    digest = hashlib.sha256()
    for part in (request.method.encode(), str(request.url).encode(), request.content):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
