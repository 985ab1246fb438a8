"""Amounts of units: `Decimal` in the client, decimal strings in requests."""

from decimal import Decimal, InvalidOperation

Amount = Decimal | int | str
"""An amount as callers state it. A float is refused: it does not hold what was written."""


def amount_text(amount: Amount) -> str:
    """The decimal string that the registry takes. Raises: TypeError, ValueError."""
    if isinstance(amount, bool | float):
        raise TypeError(f"an amount is a Decimal, an integer or a decimal string, got {amount!r}")
    try:
        value = Decimal(amount)
    except InvalidOperation:
        raise ValueError(f"an amount is a decimal number such as 12.5, got {amount!r}") from None
    if not value.is_finite():
        raise ValueError(f"an amount is a finite number, got {amount!r}")
    return format(value, "f")
