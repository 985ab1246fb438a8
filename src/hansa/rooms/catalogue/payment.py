"""Payment extension of a card, where the registry derives it from the older `pricing` block.

- Whether a card is paid, the rate it is searched and shown by, and the derived extension, all follow from `declared_price`,
  `is_paid` and `rate_of`.
- It is derived only where the card says nothing of payment itself, and only from a stated rate above zero: a price is
  never invented.
- A rate of an owner has digits with an optional fraction, as a text and as a number, without sign and exponent: so it is served to
  those that read it. A number in another form is judged by its value where it is read all the same, as on cards of peers.
- A derived extension is no word of the owner's. It comes back in cards that were read here and are written again, and is
  dropped then, so that it follows the block for ever.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from math import isfinite
from typing import Any

from hansa.foundation.values.money import ExponentNumber

from .limits import Trouble

PAYMENT = "/extensions/v1/auth/a2a-payment"
DERIVED = "Derived by the registry from the card's pricing block."
PRICING_MODEL_DEFAULT = "per_request"

_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)


def with_payment(card_data: dict[str, Any], *, currency: str, extension_base: str) -> dict[str, Any]:
    """The document with the derived extension, if there is one. `currency` is for a block that states none."""
    terms = None if _says_payment(card_data) else _terms(card_data.get("pricing"), currency)
    if terms is None:
        return card_data
    block: dict[str, Any] = card_data["pricing"]
    derived = {
        "uri": extension_base + PAYMENT,
        "description": DERIVED,
        "required": block.get("payment_required") is True,
        "params": terms,
    }
    return {**card_data, "extensions": [*card_data.get("extensions", []), derived]}


def is_derived(extension: Any) -> bool:
    """Return whether the extension is one that a registry derived."""
    return _is_payment(extension) and extension.get("description") == DERIVED


def declared_price(card_data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the stated price of the card: its `pricing` block, else the terms of its payment extension, else None.

    Where the extension makes the card a paid one and the block does not, `payment_required` is true in the answer.
    """
    block = card_data.get("pricing")
    terms = next((_terms_of(one) for one in _extensions(card_data) if _is_payment(one)), None)
    if not isinstance(block, dict):
        return terms
    if terms is not None and is_paid(terms) and not is_paid(block):
        return {**block, "payment_required": True} if "base_rate" in block else terms
    return block if terms is None or "base_rate" in block or block.get("payment_required") is True else terms


def is_paid(stated: Any) -> bool:
    """Return whether a card that states this of its price is paid: it requires payment, or has a rate above zero."""
    return isinstance(stated, dict) and (
        stated.get("payment_required") is True or (rate_of(stated) or Decimal(0)) > 0
    )


def rate_of(stated: Any) -> Decimal | None:
    """The rate stated, 0 or more; None where there is none, or in a form that is not allowed.

    A rate is a JSON number, or a text of digits with an optional fraction, without sign and exponent.
    """
    rate = stated.get("base_rate") if isinstance(stated, dict) else None
    if isinstance(rate, str):
        return Decimal(rate) if _DIGITS.fullmatch(rate) else None
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not isfinite(rate) or rate < 0:
        return None
    return Decimal(repr(rate)).copy_abs()


def plain(rate: Decimal) -> str:
    """The rate as digits with an optional fraction, exactly as it was stated, without an exponent."""
    digits = f"{rate:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def pricing_troubles(card_data: dict[str, Any]) -> Iterator[Trouble]:
    """Rates in the `pricing` block and in the payment extensions of an owner's card that are not in an allowed form."""
    for path, declared in (("$.pricing", card_data.get("pricing")), *_stated_by_extensions(card_data)):
        if isinstance(declared, dict) and declared.get("base_rate") is not None and not _is_plain(declared):
            yield Trouble(
                f"{path}.base_rate",
                "This member is digits with an optional fraction, without sign and exponent, 0 or more. Write it as a text"
                " where it is less than 0.0001 or has more than 16 digits.",
            )


def _is_plain(stated: dict[str, Any]) -> bool:
    """Return whether the rate is allowed, and written in digits where it came from and where it is served."""
    rate = stated["base_rate"]
    if rate_of(stated) is None or isinstance(rate, ExponentNumber):
        return False
    return not isinstance(rate, float) or _DIGITS.fullmatch(repr(rate)) is not None


def _stated_by_extensions(card_data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parameters of each payment extension with their JSON path."""
    for holder, path in ((card_data, "$"), (card_data.get("capabilities"), "$.capabilities")):
        listed = holder.get("extensions") if isinstance(holder, dict) else None
        for position, extension in enumerate(listed if isinstance(listed, list) else ()):
            if _is_payment(extension):
                yield f"{path}.extensions[{position}].params", extension.get("params")


def _terms(block: Any, currency: str) -> dict[str, str] | None:
    """Return the terms of the price in the block; None where it states no rate above zero."""
    rate = rate_of(block)
    if not rate:
        return None
    return {
        "base_rate": plain(rate),
        "currency": _text(block.get("currency")).upper() or currency,
        "pricing_model": _text(block.get("model"))
        or _text(block.get("pricing_model"))
        or PRICING_MODEL_DEFAULT,
    }


def _terms_of(extension: Any) -> dict[str, Any]:
    """The terms that a payment extension states; without a rate that is allowed, `base_rate` is null."""
    params = extension.get("params")
    terms = {"base_rate": None, **(params if isinstance(params, dict) else {})}
    # Payment is required by the extension's rate alone; a member of that name belongs to the older block.
    terms.pop("payment_required", None)
    return terms if rate_of(terms) is not None else {**terms, "base_rate": None}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _says_payment(card_data: dict[str, Any]) -> bool:
    return any(_is_payment(extension) for extension in _extensions(card_data))


def _extensions(card_data: dict[str, Any]) -> Iterator[Any]:
    """The extensions of a card; a mirrored card was judged by another registry and may hold anything there."""
    for holder in (card_data, card_data.get("capabilities")):
        listed = holder.get("extensions") if isinstance(holder, dict) else None
        yield from listed if isinstance(listed, list) else ()


def _is_payment(extension: Any) -> bool:
    uri = extension.get("uri") if isinstance(extension, dict) else None
    return isinstance(uri, str) and uri.rstrip("/").endswith(PAYMENT)
