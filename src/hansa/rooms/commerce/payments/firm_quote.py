"""Firm quotes: the registry signs the cost of a payment, and one token may use that within a minute (`payment-quote+jws`)."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import agents, federation
from hansa_verify import BadEntry, NotBase64url, NotCanonical, decoded, encoded, read_entry, read_json

from . import store
from .authorize import AuthorizeOrder, Quoted
from .errors import (
    QuoteExpired,
    QuoteMismatch,
    QuoteNotFirm,
    QuoteOfAnother,
    QuoteUnreadable,
    TooManyFirmQuotes,
)
from .quote import QUOTED_FOR, Quote, plain_price

TYPE = "payment-quote+jws"
KIND = "pay.quote.v1"


async def require_firm(tx: Tx, quoted: Quote) -> None:
    """The quote can be made firm: it costs something, in this registry's unit, to one of its agents. Raises: QuoteNotFirm."""
    if not await agents.statuses_of(tx, [quoted.payee]):
        raise QuoteNotFirm("A quote can be firm only for a payee of this registry.")
    if not quoted.amount:
        raise QuoteNotFirm("A quote can be firm only for an amount above zero in this registry's unit.")


async def count_firm(tx: Tx, caller: str, quoted: Quote, settings: Settings) -> UUID:
    """The id of a new firm quote, which counts until it is used or over. Raises: TooManyFirmQuotes.

    A quote keeps the fee of its moment: without a bound an agent would take many while it pays little, and use them while it pays
    much.
    """
    quote_id, most = uuid4(), settings.firm_quotes_per_caller
    if not await store.take_quote_slot(tx, caller, quote_id, quoted.expires_at, most):
        raise TooManyFirmQuotes(
            f"The caller has {most} firm quotes; use one, or retry after one is over.",
            retry_after=await store.seconds_to_quote_slot(tx, caller),
        )
    return quote_id


async def sign_quote(
    signatory: federation.Signatory, caller: str, quote_id: UUID, quoted: Quote, currency: str
) -> str:
    """Sign a quote that was counted as firm. Raises: KeyDoesNotOpen, Unavailable."""
    assert quoted.amount is not None, "a firm quote has an amount"
    assert quoted.fee is not None, "an amount has a fee"
    expires = int(quoted.expires_at.timestamp())
    payload = canonical_json(
        {
            "kind": KIND,
            "jti": str(quote_id),
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
    """Read the terms that a quote token fixes for this order of this caller.

    Raises: QuoteUnreadable, QuoteOfAnother, QuoteMismatch, QuoteExpired.
    """
    terms = await _signed_terms(tx, token)
    if terms["caller"] != caller:
        raise QuoteOfAnother
    if terms["payee"] != order.payee or parse_amount(terms["amount"]) != order.amount:
        raise QuoteMismatch
    if await clock.began_at(tx) > datetime.fromtimestamp(terms["exp"], UTC):
        raise QuoteExpired
    quote_id = UUID(terms["jti"])
    # A refusal that follows undoes it with the rest of the transaction.
    await store.free_quote_slot(tx, caller, quote_id)
    return Quoted(quote_id, parse_amount(terms["fee"]))


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
