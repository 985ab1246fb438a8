"""Amounts of units: `Decimal` in the client, decimal strings in requests."""

import re
from decimal import Decimal

Amount = Decimal | int | str
"""An amount as callers state it. A float is refused: it does not hold what was written."""

DIGITS_MAX = 40
"""Far more than any ledger has; beyond it a number such as 1e999999999 would become its digits."""
PLAIN = re.compile(rf"[0-9]{{1,{DIGITS_MAX}}}(\.[0-9]{{1,{DIGITS_MAX}}})?")
WRITTEN = re.compile(r"\+?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?|\+?\.[0-9]+([eE][+-]?[0-9]{1,3})?")


def amount_text(amount: Amount) -> str:
    """The decimal string that the registry takes. Raises: TypeError, ValueError."""
    if isinstance(amount, bool | float):
        raise TypeError(f"an amount is a Decimal, an integer or a decimal string, got {amount!r}")
    if isinstance(amount, str) and WRITTEN.fullmatch(amount) is None:
        raise ValueError(f"an amount is a decimal number such as 12.5 and not negative, got {amount!r}")
    value = Decimal(amount)
    if not value.is_finite() or value < 0:
        raise ValueError(f"an amount is a finite number and not negative, got {amount!r}")
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "a finite number has an exponent"
    if len(digits) + abs(exponent) > DIGITS_MAX:
        raise ValueError(f"an amount has at most {DIGITS_MAX} digits, got more")
    return format(value, "f")


def rate_on_card(stated: object) -> Decimal | None:
    """The `base_rate` of a card as a registry reads it: digits with an optional fraction, or a JSON number by its value.

    None for anything else: a sign, an exponent in a text, a number below 0.
    """
    if isinstance(stated, str):
        return Decimal(stated) if PLAIN.fullmatch(stated) else None
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated < 10**DIGITS_MAX:
        return None
    return Decimal(repr(stated)).copy_abs()
