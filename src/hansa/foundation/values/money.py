"""Amounts of units.

- On the wire an amount is a plain ASCII decimal string; inside it is a whole number of minor units, 10^-8 of a unit.
- An amount that moves value is greater than zero and at most 10^10 units.
- Nothing here rounds silently: `share` is the only place that rounds, half to even.
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, NewType

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

Minor = NewType("Minor", int)

ZERO = Minor(0)
DECIMALS = 8
UNIT = 10**DECIMALS
AMOUNT_MAX_UNITS = 10**10
# All units there are, in minor units, fit into a BIGINT.
SUPPLY_MAX_UNITS = 9 * 10**10
AMOUNT_PATTERN = r"^[0-9]{1,11}(\.[0-9]{1,8})?$"

_AMOUNT = re.compile(AMOUNT_PATTERN, re.ASCII)


class NotAnAmount(ValueError):
    """The text is not a plain decimal of the accepted range."""


@lru_cache(maxsize=16_384)
def parse_amount(text: str) -> Minor:
    """Minor units of a decimal string that may be zero.

    Raises: NotAnAmount for a sign, an exponent, non-ASCII digits, more than 8 fraction digits or more than 10^10.
    """
    if not _AMOUNT.match(text) or text.endswith("\n"):
        raise NotAnAmount("an amount is a plain decimal string with at most 8 fraction digits")
    whole, _, fraction = text.partition(".")
    minor = int(whole) * UNIT + int(fraction.ljust(DECIMALS, "0"))
    if minor > AMOUNT_MAX_UNITS * UNIT:
        raise NotAnAmount("an amount is at most 10000000000")
    return Minor(minor)


def parse_positive(text: str) -> Minor:
    """Parse an amount, like `parse_amount`, that is greater than zero."""
    minor = parse_amount(text)
    if minor == 0:
        raise NotAnAmount("an amount must be greater than zero")
    return minor


def units(count: int) -> Minor:
    """Whole units, which may be more than one amount can hold: a supply."""
    return Minor(count * UNIT)


@lru_cache(maxsize=16_384)
def format_amount(minor: int) -> str:
    """A plain decimal: no exponent, no trailing zeros, a sign only where a delta is negative."""
    sign = "-" if minor < 0 else ""
    whole, fraction = divmod(abs(minor), UNIT)
    digits = f"{fraction:0{DECIMALS}d}".rstrip("0")
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


def share(amount: int, rate: Fraction) -> Minor:
    """`amount` times `rate`, rounded half to even to whole minor units."""
    whole, rest = divmod(amount * rate.numerator, rate.denominator)
    half_even = 2 * rest > rate.denominator or (2 * rest == rate.denominator and whole % 2 == 1)
    return Minor(whole + half_even)


def _checked_positive(text: str) -> str:
    parse_positive(text)
    return text


def _checked(text: str) -> str:
    parse_amount(text)
    return text


def _number_as_text(value: object) -> object:
    """Return a JSON number as text by its value, digit for digit: encoders choose how to write it, 1e2 for 100."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, Decimal):
        return value
    fraction_digits = -int(value.as_tuple().exponent)
    if fraction_digits > DECIMALS:
        raise ValueError(f"an amount has at most {DECIMALS} fraction digits")
    if abs(value) > AMOUNT_MAX_UNITS:
        raise ValueError(f"an amount is at most {AMOUNT_MAX_UNITS}")
    return f"{value:f}"


PositiveAmount = Annotated[
    str,
    Field(strict=True, pattern=AMOUNT_PATTERN, examples=["12.5"]),
    AfterValidator(_checked_positive),
]
"""A request member: a decimal string greater than zero. A JSON number is refused."""

Amount = Annotated[
    str,
    Field(strict=True, pattern=AMOUNT_PATTERN, examples=["12.5"]),
    AfterValidator(_checked),
]
"""A request member: a decimal string that may be zero. A JSON number is refused."""

PositiveAmountOrNumber = Annotated[
    PositiveAmount,
    BeforeValidator(_number_as_text),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": AMOUNT_PATTERN},
                {"type": "number", "exclusiveMinimum": 0, "maximum": AMOUNT_MAX_UNITS},
            ],
            "examples": ["25.5"],
        }
    ),
]
"""As `PositiveAmount`, or a JSON number; its route is marked with `exact_numbers`."""


class ExponentNumber(float):
    """Number that its JSON text writes with an exponent; no rate is read from it."""

    __slots__ = ()
