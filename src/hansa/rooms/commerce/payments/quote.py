"""The price of a service, as its card states it, in the registry's unit and with the fee that its payment would bear now.

Firm quotes: the registry signs the cost of a payment, and one token may use that within a minute (`payment-quote+jws`).
"""

from datetime import UTC, datetime, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias
from uuid import UUID, uuid4

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.money import AMOUNT_MAX_UNITS, UNIT, ZERO, Minor, format_amount, parse_amount
from hansa.rooms import agents, catalogue, federation, ledger, transfers
from hansa_verify import BadEntry, NotBase64url, NotCanonical, decoded, encoded, read_entry, read_json

from . import quote_store, rules
from .authorize import AuthorizeOrder, Quoted
from .errors import (
    QuoteExpired,
    QuoteMismatch,
    QuoteNotFirm,
    QuoteOfAnother,
    QuoteUnreadable,
    TooManyFirmQuotes,
)

# A price may have more digits than the 28 of an ordinary context: rounded to those, its amount would not cover it.
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
QUOTED_FOR = timedelta(seconds=60)
PRICING_MODEL_DEFAULT = "per_request"
Source: TypeAlias = Literal["legacy", "extension", "none"]
TYPE = "payment-quote+jws"
KIND = "pay.quote.v1"


class Quote(msgspec.Struct, frozen=True):
    """Present terms of a payment to an agent. Amounts are minor units; None where the price is not known here.

    `amount_received` is the payee's part: of a payment to another registry, the amount less the border fee; of one that is
    swapped, in the payee's currency.
    """

    payee: str
    price: Decimal | None
    price_currency: str
    pricing_model: str | None
    source: Source
    amount: Minor | None
    amount_received: Minor | None
    fee: Minor | None
    expires_at: datetime
    swap_rate: Fraction | None = None
    """Own units for one of the price, where the payment is swapped; what stays in the pool is part of it."""

    @property
    def total(self) -> Minor | None:
        """Amount and fee."""
        return None if self.amount is None or self.fee is None else Minor(self.amount + self.fee)

    def rate_to(self, currency: str) -> str | None:
        """Units of this currency for one of the price; None where there is no rate."""
        if self.price_currency == currency:
            return "1"
        return None if self.swap_rate is None else transfers.decimal_text(self.swap_rate)


class FirmQuote(msgspec.Struct, frozen=True):
    """Quote that was counted as firm, under its id. It is signed after its commit, each time with the same result while the key stays."""

    quote: Quote
    quote_id: UUID

    def as_text(self) -> str:
        """The form that is remembered under an Idempotency-Key."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def of_text(cls, text: str) -> "FirmQuote":
        """Read the remembered form."""
        return msgspec.json.decode(text, type=cls)


async def quote(
    tx: Tx, caller: str, payee: str, amount: Minor | None, settings: Settings, *, gross_up: bool = False
) -> Quote:
    """Read the price of a service, or of the amount that is named instead.

    With `gross_up` the amount is raised by the border fee, so that a payee of another registry gets the whole price.

    Raises: TargetMalformed, CardUnknown.
    """
    rules.require_target(caller, payee)
    book = ledger.Book.of(settings)
    card, is_foreign, is_local, began_at = await read_together(
        tx,
        lambda tx: catalogue.card_of_agent(tx, payee),
        lambda tx: transfers.is_foreign(tx, payee, settings),
        lambda tx: _is_local(tx, payee),
        clock.began_at,
    )
    source, terms = effective_price(card.card_data or {})
    price = Decimal(0) if source == "none" else catalogue.rate_of(terms)
    currency = _text(terms.get("currency")).upper() or card.settlement_currency or book.currency
    if amount is None and price is not None and currency == book.currency:
        amount = amount_of(price)
    peer = await transfers.peer_of(tx, payee, settings) if is_foreign else None
    if amount and peer is not None and gross_up and peer.settlement_currency == book.currency:
        amount = transfers.raised_by_fee(peer, amount)
    received = amount if amount is None or peer is None else transfers.net_at_peer(peer, amount)
    rate = None
    if peer is not None and peer.settlement_currency != book.currency:
        received = amount_of(price) if price and currency == peer.settlement_currency else None
        amounts = await _swapped(tx, peer, amount, received, settings)
        amount, received = amounts or (None, None)
        rate = Fraction(*amounts) if amounts is not None else None
    # The fee is stated even if the balance does not cover it; a payment to another registry bears none here.
    fee = None if amount is None else ZERO
    if amount and is_local:
        fee = await ledger.fee_of(tx, ledger.TransferOrder(caller, payee, amount), book)
    return Quote(
        payee=payee,
        price=price,
        price_currency=currency,
        pricing_model=None
        if source == "none"
        else _text(terms.get("model")) or _text(terms.get("pricing_model")) or PRICING_MODEL_DEFAULT,
        source=source,
        amount=amount,
        amount_received=received,
        fee=fee,
        expires_at=began_at.replace(microsecond=0) + QUOTED_FOR,
        swap_rate=rate,
    )


async def _swapped(
    tx: Tx, peer: federation.PeerRecord, amount: Minor | None, received: Minor | None, settings: Settings
) -> tuple[Minor, Minor] | None:
    """Return the paid and the received amount, from the amount that is named, or else from the price; None where the pool does not swap it."""
    if peer.spiffe_id is None or not (amount or received):
        return None
    return await transfers.swapped_amounts(
        tx, peer.spiffe_id, settings, sent=amount or None, received=None if amount else received
    )


def effective_price(card_data: dict[str, Any]) -> tuple[Source, dict[str, Any]]:
    """Return the source and the terms of the price, in the order of the specification: the older block if it speaks of one, then the extension."""
    block = card_data.get("pricing")
    if isinstance(block, dict) and ("base_rate" in block or block.get("payment_required") is True):
        return ("legacy", block) if catalogue.is_paid(block) else ("none", {})
    terms = catalogue.declared_price({**card_data, "pricing": None})
    return ("extension", terms) if terms is not None and catalogue.is_paid(terms) else ("none", {})


def amount_of(price: Decimal) -> Minor | None:
    """Return the least amount that covers a price; None beyond the maximum of one payment."""
    if price > AMOUNT_MAX_UNITS:
        return None
    return Minor(int(_EXACT.multiply(price, UNIT).to_integral_value(ROUND_CEILING)))


def plain_price(price: Decimal) -> str:
    """A price in digits, without an exponent and trailing zeros."""
    digits = f"{price:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


async def _is_local(tx: Tx, payee: str) -> bool:
    return bool(await agents.statuses_of(tx, [payee]))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


async def require_firm(tx: Tx, quoted: Quote) -> None:
    """The quote can be made firm: it costs something, in this registry's unit, to one of its agents. Raises: QuoteNotFirm."""
    if not await _is_local(tx, quoted.payee):
        raise QuoteNotFirm("A quote can be firm only for a payee of this registry.")
    if not quoted.amount:
        raise QuoteNotFirm("A quote can be firm only for an amount above zero in this registry's unit.")


async def count_firm(tx: Tx, caller: str, quoted: Quote, settings: Settings) -> UUID:
    """The id of a new firm quote, which counts until it is used or over. Raises: TooManyFirmQuotes.

    A quote keeps the fee of its moment: without a bound an agent would take many while it pays little, and use them while it pays
    much.
    """
    quote_id, most = uuid4(), settings.firm_quotes_per_caller
    if not await quote_store.take_quote_slot(tx, caller, quote_id, quoted.expires_at, most):
        raise TooManyFirmQuotes(
            f"The caller has {most} firm quotes; use one, or retry after one is over.",
            retry_after=await quote_store.seconds_to_quote_slot(tx, caller),
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
    await quote_store.free_quote_slot(tx, caller, quote_id)
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
