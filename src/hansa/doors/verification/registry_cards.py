"""Verification of a registry card, and of a contract proof that rests on it, from the command line: reads the documents and the keys."""

from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from hansa.doors.verification.cards import (
    KEY_HISTORY,
    KEY_SET,
    CannotRead,
    is_address,
    read_source,
    steps_json,
)
from hansa_verify import (
    CardReader,
    CardVerdict,
    Decision,
    NotAKey,
    NotCanonical,
    RegistryKey,
    read_json,
    read_keys,
    verify_contract_proof,
    verify_registry_card,
    verify_stock_card,
)

CARD = "/.well-known/registry-card.json"
STOCK_CARD = "/api/v1/agora/stock-card"


class RegistryCardToVerify(msgspec.Struct, frozen=True):
    """Source of the card: a registry's address, the card's address, or a file; and the expectations of it.

    Without `keys` they are those of the card's host.
    """

    card: str
    keys: str | None
    at: datetime | None
    trust_domain: str | None


def verify_source(request: RegistryCardToVerify) -> CardVerdict:
    """The verdict on a registry card. Raises: CannotRead."""
    place = request.card
    if is_address(place) and urlsplit(place).path in {"", "/"}:
        place = urljoin(place, CARD)
    if request.keys is None and not is_address(place):
        raise CannotRead(f"--keys is required for a card in a file: use --keys https://REGISTRY{KEY_SET}")
    keys = request.keys or urljoin(place, KEY_SET if request.at is None else KEY_HISTORY)
    text, key_set = read_source(place), _keys(keys)
    reader = CardReader(proved_domain=request.trust_domain)
    return verify_registry_card(text, key_set, at=request.at, reader=reader)


def verify_contract_source(source: str, card: str | None, keys: str | None) -> Decision:
    """The verdict on a contract proof, by default with card and keys of its host. Raises: CannotRead."""
    text, card_text, key_set = _with_card(source, card, keys, "a proof")
    return verify_contract_proof(text, card_text, key_set)


def verify_stock_card_source(source: str, card: str | None, keys: str | None) -> Decision:
    """The verdict on a stock card, of a registry's address too, by default with card and keys of its host. Raises: CannotRead."""
    if is_address(source) and urlsplit(source).path in {"", "/"}:
        source = urljoin(source, STOCK_CARD)
    text, card_text, key_set = _with_card(source, card, keys, "a stock card")
    return verify_stock_card(text, card_text, key_set)


def _with_card(
    source: str, card: str | None, keys: str | None, kind: str
) -> tuple[bytes, bytes, tuple[RegistryKey, ...]]:
    """The document, the registry card that signs it, and the keys of that registry. Raises: CannotRead."""
    if not is_address(source) and card is None:
        raise CannotRead(f"--card is required for {kind} in a file: use --card https://REGISTRY{CARD}")
    card_place = urljoin(source, CARD) if card is None else card
    if keys is None and not is_address(card_place):
        raise CannotRead(f"--keys is required for a card in a file: use --keys https://REGISTRY{KEY_SET}")
    key_set = _keys(keys or urljoin(card_place, KEY_SET))
    return read_source(source), read_source(card_place), key_set


def registry_card_verdict_json(verdict: CardVerdict) -> dict[str, Any]:
    """The verdict for a program."""
    return {
        "valid": verdict.is_valid,
        "code": verdict.code,
        "kid": verdict.kid,
        "signed_at": verdict.signed_at.isoformat() if verdict.signed_at else None,
        "expires_at": verdict.expires_at.isoformat() if verdict.expires_at else None,
        "steps": steps_json(verdict.steps),
        "signed": _plain(verdict.signed),
    }


def _keys(place: str) -> tuple[RegistryKey, ...]:
    try:
        return read_keys(read_json(read_source(place)))
    except (NotCanonical, NotAKey) as error:
        raise CannotRead(f"{place} contains no usable keys: {error}.") from None


def _plain(value: Any) -> Any:
    """The signed leaves as JSON: a number with a fraction was read as a Decimal."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int) else float(value)
