"""The payment extension of a card, where the registry derives it from the older `pricing` block.

- It is derived only where the card says nothing of payment itself, and only from a stated rate above zero: a price is
  never invented.
- What was derived is no word of the owner's. It comes back in cards that were read here and are written again, and is
  dropped then, so that it follows the block for ever.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

PAYMENT = "/extensions/v1/auth/a2a-payment"
DERIVED = "Derived by the registry from the card's pricing block."
PRICING_MODEL_DEFAULT = "per_request"


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
    """Whether the extension is one that a registry derived."""
    return _is_payment(extension) and extension.get("description") == DERIVED


def stated_price(card_data: dict[str, Any]) -> Any:
    """What the card states of its price: in its `pricing` block, else in its payment extension, else None.

    An extension that names no base rate is a price nobody knows: its `base_rate` is null.
    """
    block = card_data.get("pricing")
    if isinstance(block, dict) and ("base_rate" in block or block.get("payment_required") is True):
        return block
    for extension in _extensions(card_data):
        if _is_payment(extension):
            params = extension.get("params")
            return {"base_rate": None, **(params if isinstance(params, dict) else {})}
    return block


def _terms(block: Any, currency: str) -> dict[str, str] | None:
    """What the block says of the price; None where it states no rate above zero."""
    rate = block.get("base_rate") if isinstance(block, dict) else None
    if not isinstance(rate, int | float) or isinstance(rate, bool) or rate <= 0:
        return None
    return {
        "base_rate": _plain(rate),
        "currency": _text(block.get("currency")).upper() or currency,
        "pricing_model": _text(block.get("model"))
        or _text(block.get("pricing_model"))
        or PRICING_MODEL_DEFAULT,
    }


def _plain(rate: float) -> str:
    """The number as digits with an optional fraction, exactly as it was written, without an exponent."""
    digits = format(Decimal(repr(rate)), "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _says_payment(card_data: dict[str, Any]) -> bool:
    return any(_is_payment(extension) for extension in _extensions(card_data))


def _extensions(card_data: dict[str, Any]) -> Iterator[Any]:
    yield from card_data.get("extensions") or []
    yield from card_data.get("capabilities", {}).get("extensions") or []


def _is_payment(extension: Any) -> bool:
    uri = extension.get("uri") if isinstance(extension, dict) else None
    return isinstance(uri, str) and uri.rstrip("/").endswith(PAYMENT)
