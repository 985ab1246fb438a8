"""Demand of a service, the signed card of its payee, and the agreement of the two. No I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Self
from urllib.parse import urlsplit

from hansa_client.amounts import rate_on_card

from .errors import OfferDeclined

EXTENSION_SUFFIX = "/extensions/v1/auth/a2a-payment"
PRICE = re.compile(r"[0-9]{1,20}(\.[0-9]{1,18})?", re.ASCII)
DEFAULT_PORTS = {"http": 80, "https": 443}
# What a card states in place of an address may be no address.
NO_ORIGIN = ""


@dataclass(frozen=True)
class Offer:
    """The terms of one call, as the service states them."""

    payee: str
    amount: Decimal
    currency: str | None
    issuers: tuple[str, ...] = ()
    """The registries whose tokens the service accepts; empty: not stated."""
    capture_by: tuple[str, ...] = ("caller",)
    is_reserved: bool = False
    """Whether a token that the caller settles has to be reserved."""


def read_offer(problem: object) -> Offer | None:
    """The offer in the problem document of a 402; None where it has none. Raises: OfferDeclined."""
    payment = problem.get("payment") if isinstance(problem, Mapping) else None
    if not isinstance(payment, Mapping):
        return None
    payee, amount, currency = payment.get("payee"), payment.get("amount"), payment.get("currency")
    if not isinstance(payee, str) or not isinstance(amount, str) or not isinstance(currency, str):
        raise OfferDeclined("The service demands a payment without stating payee, amount and currency.")
    return Offer(
        payee,
        _amount(amount),
        currency,
        _texts(payment.get("issuers")),
        _texts(payment.get("capture_by")),
        payment.get("reserved") is True,
    )


def price_on_card(card: Mapping[str, Any]) -> tuple[Decimal, str | None] | None:
    """The effective price and its currency; None for a free service. Raises: OfferDeclined.

    The legacy block decides where it states a price or payment_required, else the payment extension.
    """
    legacy = card.get("pricing")
    if isinstance(legacy, Mapping) and ("base_rate" in legacy or legacy.get("payment_required") is True):
        return _price(legacy) if legacy.get("payment_required") is True or _is_positive(legacy) else None
    for extension in _extensions(card):
        params = extension.get("params")
        if isinstance(params, Mapping) and _is_positive(params):
            return _price(params)
    return None


@dataclass(frozen=True)
class CardTerms:
    """Payment terms of a card; of a free agent the price is None."""

    price: Decimal | None
    currency: str | None
    origins: frozenset[str]
    """Scheme, host and port of each address at which the agent can be called."""

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Self:
        """The terms on a card. Raises: OfferDeclined."""
        price, currency = price_on_card(card) or (None, None)
        origins = frozenset(map(_origin, addresses_on_card(card))) - {NO_ORIGIN}
        return cls(price, currency, origins)


def require_agreement(offer: Offer, terms: CardTerms, url: str) -> None:
    """Refuse an offer that the payee's card does not support. Raises: OfferDeclined."""
    if terms.price is None:
        raise OfferDeclined(
            f"The signed card of {offer.payee} states no price; the service demands {offer.amount}."
        )
    if offer.amount > terms.price:
        raise OfferDeclined(
            f"The service demands {offer.amount}; the signed card of its payee says {terms.price}."
        )
    if terms.currency is not None and offer.currency is not None and terms.currency != offer.currency:
        raise OfferDeclined(
            f"The service demands {offer.currency}; the signed card of its payee says {terms.currency}."
        )
    if _origin(url) not in terms.origins:
        raise OfferDeclined(f"The signed card of {offer.payee} does not name {_origin(url)} as its address.")


def addresses_on_card(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Every address at which the card says that its agent can be called, A2A 1.0 and 0.3."""
    interfaces = [
        *_objects(card.get("supportedInterfaces")),
        *_objects(card.get("additionalInterfaces")),
        *_objects(card.get("endpoints")),
    ]
    stated = [card.get("url"), *(interface.get("url") for interface in interfaces)]
    return tuple(url for url in stated if isinstance(url, str))


def _extensions(card: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    capabilities = card.get("capabilities")
    inner = capabilities.get("extensions") if isinstance(capabilities, Mapping) else None
    listed = [*_objects(card.get("extensions")), *_objects(inner)]
    return [entry for entry in listed if str(entry.get("uri", "")).endswith(EXTENSION_SUFFIX)]


def _price(block: Mapping[str, Any]) -> tuple[Decimal, str | None]:
    rate, currency = rate_on_card(block.get("base_rate")), block.get("currency")
    if not rate:
        raise OfferDeclined(f"A price is a decimal number greater than 0, got {block.get('base_rate')!r}.")
    return rate, currency if isinstance(currency, str) else None


def _is_positive(block: Mapping[str, Any]) -> bool:
    return bool(rate_on_card(block.get("base_rate")))


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not PRICE.fullmatch(text) or amount <= 0:
        raise OfferDeclined(f"A price is a decimal number greater than 0, got {text!r}.")
    return amount


def _texts(value: object) -> tuple[str, ...]:
    return tuple(entry for entry in value if isinstance(entry, str)) if isinstance(value, list) else ()


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        value = list(value.values())
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return NO_ORIGIN
    return f"{parts.scheme}://{(parts.hostname or '').rstrip('.')}:{port}"
