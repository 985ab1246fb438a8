"""Texts that mean one thing to everybody: base64url, JSON, and the JSON that is signed (`sorted-ascii-json/1`).

- base64url has no padding, no stray characters and no alias of the last character.
- Refused JSON: the same member twice in one object, NaN and infinities, half of a surrogate pair, more than `DEPTH_MAX`
  levels, numbers that a double does not hold exactly as written, integers of more than `DIGITS_MAX` digits.
- The signed text: keys sorted at every level by code point, separators `,` and `:`, everything beyond ASCII escaped.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any

from .steps import Unreadable

DEPTH_MAX = 64
DIGITS_MAX = 1000
EXACT_DIGITS_MAX = 60

_ESCAPED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d"
_MOMENT = re.compile(rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}:[0-5]\d(\.\d{{1,9}})?(Z|[+-]{_CLOCK})", re.ASCII)
_TEXT_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class NotBase64url(Unreadable):
    """The text is not base64url, or not in its canonical spelling; the message is one line."""


class NotCanonical(Unreadable):
    """The text is no JSON, or is ambiguous; the message is one line."""


def decoded(text: object) -> bytes:
    """The bytes of a base64url text. Raises: NotBase64url."""
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4)) if isinstance(text, str) else b""
    except ValueError:
        raise NotBase64url("not base64url") from None
    # The decoder drops characters it does not know; encoding the bytes again proves the spelling.
    if encoded(raw) != text:
        raise NotBase64url("not in canonical base64url without padding")
    return raw


def encoded(raw: bytes) -> str:
    """The one base64url text of these bytes."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def read_json(text: bytes | str, *, exact: bool = False) -> Any:
    """The value of a strict JSON text; with `exact` a fraction is a Decimal with all its digits. Raises: NotCanonical."""
    try:
        # A text goes through UTF-8 too: half of a surrogate pair has no bytes.
        plain = (text.encode() if isinstance(text, str) else text).decode("utf-8")
        _require_shallow(plain)
        value = (_DECIMALS if exact else _FLOATS).decode(plain)
        if "\\u" in plain:
            # Only whole characters can be encoded; an escape could be half of a surrogate pair.
            json.dumps(value, ensure_ascii=False, default=str).encode()
    except NotCanonical:
        raise
    except (ValueError, RecursionError) as error:
        raise NotCanonical(f"not valid JSON: {error}") from None
    return value


def read_moment(text: object) -> datetime | None:
    """The time of a text such as 2026-01-31T12:00:00.5+01:00, to the microsecond; None for anything else."""
    if not isinstance(text, str) or not _MOMENT.fullmatch(text):
        return None
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    return None


def canonical_json(value: Any) -> bytes:
    """The bytes that are signed. Raises: NotCanonical."""
    try:
        text = _ESCAPED.encode(value)
        if "\\ud" in text:
            # Only whole characters can be encoded; an escape could be half of a surrogate pair.
            json.dumps(value, ensure_ascii=False).encode()
        return text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise NotCanonical(f"no canonical form exists: {error}") from None


def _require_shallow(text: str) -> None:
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return
    depth = 0
    for found in _TEXT_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEPTH_MAX:
            raise NotCanonical(f"more than {DEPTH_MAX} levels deep")


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


def _decoder(parse_float: Callable[[str], Any]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_object_without_twins,
        parse_constant=_refuse_constant,
        parse_float=parse_float,
        parse_int=_bounded_int,
    )


# Made once: a chain has a text for each record.
_DECIMALS, _FLOATS = _decoder(_exact_decimal), _decoder(_exact_float)
