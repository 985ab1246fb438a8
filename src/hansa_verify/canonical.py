"""JSON that means one thing to everybody, and the one text of it that is signed (`sorted-ascii-json/1`).

- Refused: the same member twice in one object, NaN and infinities, half of a surrogate pair, more than `DEPTH_MAX`
  levels, numbers that a double does not hold exactly as written, integers of more than `DIGITS_MAX` digits.
- The signed text: keys sorted at every level by code point, separators `,` and `:`, everything beyond ASCII escaped.
"""

import json
import re
from decimal import Decimal
from typing import Any

DEPTH_MAX = 64
DIGITS_MAX = 1000
EXACT_DIGITS_MAX = 60

_TEXT_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class NotCanonical(ValueError):
    """The text is no JSON, or could be read in two ways; the message is one line."""


def read_json(text: bytes | str, *, exact: bool = False) -> Any:
    """The value of a strict JSON text; with `exact` a fraction is a Decimal with all its digits. Raises: NotCanonical."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        if isinstance(text, str):
            text.encode("utf-8")
        _require_shallow(decoded)
        value = json.loads(
            decoded,
            object_pairs_hook=_object_without_twins,
            parse_constant=_refuse_constant,
            parse_float=_exact_decimal if exact else _exact_float,
            parse_int=_bounded_int,
        )
        if "\\u" in decoded:
            # Only whole characters can be encoded; escaping alone would let half of a surrogate pair pass.
            json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except NotCanonical:
        raise
    except (ValueError, RecursionError) as trouble:
        raise NotCanonical(f"not valid JSON: {trouble}") from None
    return value


def canonical_json(value: Any) -> bytes:
    """The bytes that are signed. Raises: NotCanonical."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        # Only whole characters can be encoded; escaping alone would let half of a surrogate pair pass.
        text.encode("utf-8")
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        ).encode("ascii")
    except (ValueError, TypeError, RecursionError) as trouble:
        raise NotCanonical(f"no canonical form exists: {trouble}") from None


def _require_shallow(text: str) -> None:
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return
    depth = 0
    for found in _TEXT_OR_BRACKET.finditer(text):
        mark = found[0]
        if mark in {"[", "{"}:
            depth += 1
            if depth > DEPTH_MAX:
                raise NotCanonical(f"more than {DEPTH_MAX} levels deep")
        elif mark in {"]", "}"}:
            depth -= 1


def _object_without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotCanonical("duplicate member in one object")
    return members


def _refuse_constant(name: str) -> Any:
    raise NotCanonical(f"{name} is not valid JSON")


def _bounded_int(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        raise NotCanonical(f"a number of more than {DIGITS_MAX} digits")
    return int(digits)


def _exact_float(text: str) -> float:
    """A number that reads the same as a double and as a decimal: a price has one value, whoever reads it."""
    value = float(text)
    if len(text) > DIGITS_MAX or value in {float("inf"), float("-inf")}:
        raise NotCanonical("a number that is out of range")
    if Decimal(text) != Decimal(repr(value)):
        raise NotCanonical("a number that a double does not hold as it is written")
    return value


def _exact_decimal(text: str) -> Decimal:
    """A number of bounded size, so that sums of it are exact too."""
    value = Decimal(text)
    if len(text) > EXACT_DIGITS_MAX or abs(value.adjusted()) > EXACT_DIGITS_MAX:
        raise NotCanonical("a number that is out of range")
    return value
