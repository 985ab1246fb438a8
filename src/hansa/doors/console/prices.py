"""The price that a card states, as a page says it."""

import re
from decimal import Decimal
from typing import Any

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_positive
from hansa.rooms import catalogue, transfers

UNIT_MAX = 12
MODEL_MAX = 40

_AMOUNT = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,18})?", re.ASCII)


class Price(msgspec.Struct, frozen=True):
    """Price of a call. `amount` is None where the price of the card has no single reading."""

    amount: str | None
    unit: str
    per: str

    @property
    def is_free(self) -> bool:
        return self.amount == "0"


FREE = Price("0", "", "")


def price_of(card: dict[str, Any], own_unit: str) -> Price:
    """Return the price of a card: the stated one, else `FREE`."""
    declared = catalogue.declared_price(card)
    if isinstance(declared, dict) and ("base_rate" in declared or declared.get("payment_required") is True):
        return _stated(declared, own_unit)
    return FREE


async def own_amount(tx: Tx, did: str, price: Price, settings: Settings) -> str | None:
    """Return a price in the currency of another registry now in units of this one; None where it is not swapped."""
    peer = await transfers.peer_of(tx, did, settings)
    is_foreign = peer is not None and price.unit == peer.settlement_currency != settings.settlement_currency
    if not is_foreign or peer is None or peer.spiffe_id is None or not price.amount:
        return None
    try:
        received = parse_positive(price.amount)
    except NotAnAmount:
        return None
    amounts = await transfers.swapped_amounts(tx, peer.spiffe_id, settings, received=received)
    return None if amounts is None else f"{format_amount(amounts[0])} {settings.settlement_currency}"


def _stated(block: dict[str, Any], own_unit: str) -> Price:
    unit = block.get("currency", own_unit)
    model = block.get("model", block.get("pricing_model", "per_request"))
    if (
        not isinstance(unit, str)
        or len(unit) > UNIT_MAX
        or not isinstance(model, str)
        or len(model) > MODEL_MAX
    ):
        return Price(None, own_unit, "")
    amount = _amount(catalogue.rate_of(block))
    if amount == "0":
        if not catalogue.is_paid(block):
            return FREE
        # Payment is required and no rate is stated.
        amount = None
    return Price(amount, unit, re.sub(r"[_\s-]+", " ", model).strip())


def _amount(rate: Decimal | None) -> str | None:
    """The rate as digits; None where none is stated, or one of more digits than a reader would recognise."""
    text = None if rate is None else f"{rate:f}"
    return f"{Decimal(text).normalize():f}" if text and _AMOUNT.fullmatch(text) else None
