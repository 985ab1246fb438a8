"""The price that a card states, as a page says it."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hansa.rooms import catalogue

UNIT_MAX = 12
MODEL_MAX = 40

AMOUNT_MAX = 10**15

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
    amount = _amount(block.get("base_rate"))
    return FREE if amount == "0" else Price(amount, unit, re.sub(r"[_\s-]+", " ", model).strip())


def _amount(rate: Any) -> str | None:
    if isinstance(rate, bool) or not isinstance(rate, int | float | str):
        return None
    if isinstance(rate, int) and not 0 <= rate < AMOUNT_MAX:
        return None
    # A float is written out: 1e-07 is no amount that a reader would recognise.
    text = f"{Decimal(repr(rate)):f}" if isinstance(rate, float) else str(rate)
    if not _AMOUNT.fullmatch(text):
        return None
    return f"{Decimal(text).normalize():f}"
