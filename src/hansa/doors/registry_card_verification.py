"""Verification of a registry card from the command line: reads the card and the keys of its host, and lets the verifier judge."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from hansa.doors.card_verification import (
    KEY_HISTORY,
    KEY_SET,
    CannotRead,
    is_address,
    read_source,
    steps_json,
)
from hansa_verify import NotAKey, NotCanonical, read_json, read_keys
from hansa_verify.registry_card import CardReader, CardVerdict, verify_registry_card

CARD = "/.well-known/registry-card.json"


@dataclass(frozen=True)
class RegistryCardToVerify:
    """Where the card is: a registry's address, the card's address, or a file; and what is expected of it.

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
    text = read_source(place)
    try:
        key_set = read_keys(read_json(read_source(keys)))
    except (NotCanonical, NotAKey) as trouble:
        raise CannotRead(f"{keys} contains no usable keys: {trouble}.") from None
    reader = CardReader(proved_domain=request.trust_domain)
    return verify_registry_card(text, key_set, at=request.at, reader=reader)


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


def _plain(value: Any) -> Any:
    """The signed leaves as JSON: a number with a fraction was read as a Decimal."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int) else float(value)
