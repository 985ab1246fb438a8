"""A card as the catalogue page shows it: text only, so that nothing an owner wrote becomes a link or a picture."""

from dataclasses import dataclass
from typing import Any

from hansa.rooms import catalogue

TAGS_SHOWN = 8
SKILLS_SHOWN = 6


@dataclass(frozen=True)
class ShownAgent:
    """One agent of the catalogue."""

    card_id: int
    did: str | None
    human_readable_id: str
    name: str
    description: str
    origin: str | None
    is_stub: bool
    price: str | None
    tags: list[str]
    skills: list[str]

    @classmethod
    def of(cls, card: catalogue.Card) -> "ShownAgent":
        """What the page shows of a card read with its document."""
        document = card.card_data or {}
        return cls(
            card_id=card.card_id,
            did=card.did,
            human_readable_id=card.human_readable_id,
            name=card.name,
            description=card.description,
            origin=card.source_registry,
            is_stub=card.is_stub,
            price=_price(document.get("pricing"), card.settlement_currency),
            tags=list(document.get("tags", []))[:TAGS_SHOWN],
            skills=[skill["name"] for skill in document.get("skills", []) if skill.get("name")][
                :SKILLS_SHOWN
            ],
        )


def _price(pricing: Any, unit: str) -> str | None:
    """A price that the card states in the usual form; an owner may have written anything."""
    if not isinstance(pricing, dict):
        return None
    rate, model = pricing.get("base_rate"), pricing.get("model")
    if isinstance(rate, bool) or not isinstance(rate, int | float | str) or not isinstance(model, str):
        return None
    return f"{rate} {unit} {model.replace('_', ' ').replace('-', ' ')}"
