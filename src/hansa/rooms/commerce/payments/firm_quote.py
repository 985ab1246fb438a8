"""Firm quotes: the registry signs what a payment costs, and one token may use that within a minute (`payment-quote+jws`)."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Slot
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import agents, federation
from hansa_verify import BadEntry, NotBase64url, NotCanonical, decoded, encoded, read_entry, read_json

from . import store
from .authorize import AuthorizeOrder, Quoted
from .errors import QuoteExpired, QuoteMismatch, QuoteNotFirm, QuoteOfAnother, QuoteUnreadable
from .quote import QUOTED_FOR, Quote, plain_price

TYPE = "payment-quote+jws"
KIND = "pay.quote.v1"

SIGNATORY: Slot[federation.Signatory] = Slot("commerce: signatory of firm quotes")


async def require_firm(tx: Tx, quoted: Quote) -> None:
    """The quote can be made firm: it costs something, in this registry's unit, to one of its agents. Raises: QuoteNotFirm."""
    if not await agents.statuses_of(tx, [quoted.payee]):
        raise QuoteNotFirm("A quote can be firm only for a payee of this registry.")
    if not quoted.amount:
        raise QuoteNotFirm("A quote can be firm only for an amount above zero in this registry's unit.")


async def sign_quote(signatory: federation.Signatory, caller: str, quoted: Quote, currency: str) -> str:
    """Sign a quote that may be firm. Raises: KeyDoesNotOpen, Unavailable."""
    assert quoted.amount is not None, "a firm quote has an amount"
    assert quoted.fee is not None, "an amount has a fee"
    expires = int(quoted.expires_at.timestamp())
    payload = canonical_json(
        {
            "kind": KIND,
            "jti": str(uuid4()),
            "caller": caller,
            "payee": quoted.payee,
            "amount": format_amount(quoted.amount),
            "currency": currency,
            "price": None if quoted.price is None else plain_price(quoted.price),
            "price_currency": quoted.price_currency,
            "rate": quoted.rate_to(currency),
            "fee": format_amount(quoted.fee),
            "iat": expires - int(QUOTED_FOR.total_seconds()),
            "exp": expires,
        }
    )
    signed = federation.detached_signature(await signatory.present_key(), payload, {"typ": TYPE})
    return f"{signed['protected']}.{encoded(payload)}.{signed['signature']}"


async def read_quote(tx: Tx, caller: str, order: AuthorizeOrder, token: str) -> Quoted:
    """What a quote token fixes for this order of this caller.

    Raises: QuoteUnreadable, QuoteOfAnother, QuoteMismatch, QuoteExpired.
    """
    terms = await _signed_terms(tx, token)
    if terms["caller"] != caller:
        raise QuoteOfAnother
    if terms["payee"] != order.payee or parse_amount(terms["amount"]) != order.amount:
        raise QuoteMismatch
    if await store.now(tx) > datetime.fromtimestamp(terms["exp"], UTC):
        raise QuoteExpired
    return Quoted(UUID(terms["jti"]), parse_amount(terms["fee"]))


async def _signed_terms(tx: Tx, token: str) -> dict[str, Any]:
    """The payload of a genuine quote token. Raises: QuoteUnreadable."""
    try:
        protected, text, signature = token.split(".")
        entry = read_entry({"protected": protected, "signature": signature})
        payload = decoded(text)
    except (ValueError, BadEntry, NotBase64url):
        raise QuoteUnreadable from None
    keys = {key.kid: key.public_key for key in await federation.published_keys(tx)}
    public_key = keys.get(entry.kid or "")
    if entry.header.get("typ") != TYPE or public_key is None or not entry.is_by(public_key, payload):
        raise QuoteUnreadable
    try:
        terms: dict[str, Any] = read_json(payload)
    except NotCanonical:
        raise QuoteUnreadable from None
    return terms
