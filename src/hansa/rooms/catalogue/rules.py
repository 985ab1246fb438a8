"""Decisions of the catalogue that need no database: the searched parts of a card, and how a card is addressed."""

import json
import re
import unicodedata
from typing import Any
from uuid import UUID

import msgspec

from .errors import CardUnknown
from .payment import declared_price

BIGINT_MAX = 2**63 - 1
DID_MAX = 512
TEXT_MAX = 20_000

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_INTEGER = re.compile(r"[0-9]{1,19}", re.ASCII)


class Findable(msgspec.Struct, frozen=True):
    """Members of a card that listings and searches know."""

    name: str
    description: str
    card_json: str
    pricing_json: str | None
    tags: tuple[str, ...]
    tee_type: str | None
    name_text: str
    description_text: str
    tags_text: str
    skills_text: str

    @property
    def columns(self) -> tuple[Any, ...]:
        """The values as every statement that writes a document binds them, its size after the document."""
        return (
            self.name,
            self.description,
            self.card_json,
            len(self.card_json.encode()),
            self.pricing_json,
            self.tags,
            self.tee_type,
            self.name_text,
            self.description_text,
            self.tags_text,
            self.skills_text,
        )


def findable(card: dict[str, Any]) -> Findable:
    """Return the searched and filtered members of a card. Its tags are its own and those of its skills."""
    skills = card.get("skills", [])
    tags = dict.fromkeys([*card.get("tags", []), *(tag for skill in skills for tag in skill.get("tags", []))])
    skills_text = " ".join(f"{skill.get('name', '')} {skill.get('description', '')}" for skill in skills)
    pricing = declared_price(card)
    return Findable(
        name=card["name"],
        description=card.get("description", ""),
        card_json=json.dumps(card, ensure_ascii=False),
        pricing_json=None if pricing is None else json.dumps(pricing, ensure_ascii=False),
        tags=tuple(tags),
        tee_type=_tee_type(card),
        name_text=folded(card["name"]),
        description_text=folded(card.get("description", "")),
        tags_text=folded(" ".join(tags))[:TEXT_MAX],
        skills_text=folded(skills_text)[:TEXT_MAX],
    )


def folded(text: str) -> str:
    """The text as it is compared: without case, in one Unicode form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def like_pattern(text: str) -> str:
    """A LIKE pattern that finds `text` itself anywhere, whatever characters it holds."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", folded(text)) + "%"


def card_key(text: str) -> UUID | str | int:
    """Return the key of a card in a path: the UUID, the DID or the number. Raises: CardUnknown."""
    if _UUID.fullmatch(text):
        return UUID(text)
    if text.startswith("did:") and len(text) <= DID_MAX:
        return text
    if _INTEGER.fullmatch(text) and int(text) <= BIGINT_MAX:
        return int(text)
    raise CardUnknown


def _tee_type(card: dict[str, Any]) -> str | None:
    details = card.get("capabilities", {}).get("teeDetails")
    kind = details.get("type") if isinstance(details, dict) else None
    return kind if isinstance(kind, str) and kind else None
