"""The cards of the catalogue page: the registry's statements on each, and apart from them the owner's text."""

import msgspec

from hansa.doors.console.agent_page import path_of
from hansa.doors.console.badges import marks_of
from hansa.doors.console.prices import Price, price_of
from hansa.rooms import catalogue

TAGS_SHOWN = 8
PARTS = {"name": "name", "tags": "tags", "skills": "skills", "description": "description", "did": "DID"}


class AgentView(msgspec.Struct, frozen=True):
    """One card of the list."""

    card: catalogue.FoundCard
    path: str
    price: Price
    tags: list[str]
    marks: list[str]
    matched_in: list[str]

    @classmethod
    def of(cls, card: catalogue.FoundCard) -> "AgentView":
        """Return the entry of the list for a card that was found."""
        return cls(
            card=card,
            path=path_of(card.did, card.card_id),
            price=price_of({"pricing": card.pricing}, card.settlement_currency),
            tags=card.tags[:TAGS_SHOWN],
            marks=marks_of(card, is_verified=card.verified),
            matched_in=[PARTS[part] for part in card.why.fields],
        )
