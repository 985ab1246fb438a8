"""Stock card of a registry (0.6): the closes of a day and the listings, judged by the digest that the registry card signs.

The digest is `sha256:` and the SHA-256 of the canonical JSON of the card without `digest` and `market_freshness`, which are not signed.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from .canonical import canonical_json, read_json
from .keys import RegistryKey
from .registry_card import verify_registry_card
from .steps import Decision, Refusal, TextEvaluation, Unreadable, refused_as

UNSIGNED = ("digest", "market_freshness")
SIGNED_AT = "fees.exchange.stock_card.digest"


def verify_stock_card(
    text: bytes | str, card: bytes | str, keys: Sequence[RegistryKey], *, at: datetime | None = None
) -> Decision:
    """Judge the text of a stock card by the card of its registry and the keys of that host, as of `at`. Never raises."""
    return Decision(*_Evaluation(text, card, keys, at).take())


def signed_stock_card(text: bytes | str, signed: Mapping[str, Any]) -> dict[str, Any] | None:
    """The signed members of the text of a stock card; None where it is not the one that the leaves of a verified registry card sign.

    `signed` has the leaves by their paths, as `verify_registry_card` returns them. Never raises.
    """
    try:
        members = _signed_members(text)
        return members if _digest(members) == signed.get(SIGNED_AT) else None
    except Unreadable:
        return None


def _signed_members(text: bytes | str) -> dict[str, Any]:
    """Raises: Unreadable."""
    card = read_json(text)
    if not isinstance(card, dict):
        raise Unreadable("the stock card is no object")
    return {name: value for name, value in card.items() if name not in UNSIGNED}


def _digest(members: Mapping[str, Any]) -> str:
    """Raises: NotCanonical."""
    return f"sha256:{sha256(canonical_json(members)).hexdigest()}"


class _Evaluation(TextEvaluation):
    members: Mapping[str, Any]
    signed: Mapping[str, Any]

    def __init__(
        self, text: bytes | str, card: bytes | str, keys: Sequence[RegistryKey], at: datetime | None
    ) -> None:
        super().__init__(text, keys, at)
        self.card_text = card

    def stock_card(self) -> str:
        with refused_as("stock_card"):
            self.members = _signed_members(self.text)
        return f"of {self.members.get('date')}"

    def card(self) -> str:
        verdict = verify_registry_card(self.card_text, self.keys, at=self.at)
        if verdict.signed is None:
            raise Refusal("card", f"the registry card is not verified: {verdict.code}")
        self.signed = verdict.signed
        return f"signed with {verdict.kid}"

    def digest(self) -> str:
        with refused_as("digest"):
            found = _digest(self.members)
        if found != self.signed.get(SIGNED_AT):
            raise Refusal("digest", "the registry card signs no stock card, or another one")
        return f"the registry card signs {found}"

    steps = (stock_card, card, digest)
