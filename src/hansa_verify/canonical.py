"""JSON that means one thing to everybody, and the one text of it that is signed (`sorted-ascii-json/1`).

- Refused: the same member twice in one object, NaN and infinities, half of a surrogate pair, more than `DEPTH_MAX`
  levels, numbers that a double does not hold exactly as written, integers of more than `DIGITS_MAX` digits.
- The signed text: keys sorted at every level by code point, separators `,` and `:`, everything beyond ASCII escaped.
"""

import json
from decimal import Decimal
from typing import Any

DEPTH_MAX = 64
DIGITS_MAX = 1000


class NotCanonical(ValueError):
    """The text is no JSON, or could be read in two ways; the message is one line."""


def read_json(text: bytes | str) -> Any:
    """The value of a strict JSON text. Raises: NotCanonical."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        _require_shallow(decoded)
        value = json.loads(
            decoded,
            object_pairs_hook=_object_without_twins,
            parse_constant=_refuse_constant,
            parse_float=_exact_float,
            parse_int=_bounded_int,
        )
    except NotCanonical:
        raise
    except (ValueError, RecursionError) as trouble:
        raise NotCanonical(f"not valid JSON: {trouble}") from None
    canonical_json(value)
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
    depth, within, escaped = 0, False, False
    for mark in text:
        if within:
            within = escaped or mark != '"'
            escaped = mark == "\\" and not escaped
        elif mark == '"':
            within = True
        elif mark in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                raise NotCanonical(f"more than {DEPTH_MAX} levels deep")
        elif mark in "]}":
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
