"""The price that a card states, as a page says it."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hansa.rooms import catalogue

UNIT_MAX = 12
MODEL_MAX = 40

_AMOUNT = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,18})?", re.ASCII)


@dataclass(frozen=True)
class Price:
    """What a call costs. `amount` is None where the card states a price in a form that nobody can be sure of."""

    amount: str | None
    unit: str
    per: str

    @property
    def is_free(self) -> bool:
        return self.amount == "0"


FREE = Price("0", "", "")


def price_of(card: dict[str, Any], own_unit: str) -> Price:
    """The price of a card: what it states, else nothing."""
    stated = catalogue.stated_price(card)
    if isinstance(stated, dict) and ("base_rate" in stated or stated.get("payment_required") is True):
        return _stated(stated, own_unit)
    return FREE


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
