"""Cards as entries are made from them."""

from datetime import datetime
from typing import Any

import msgspec

from .identifiers import Identifier


class VisibleAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent whose card may be shown, this registry's own or mirrored from a peer (`source_registry`)."""

    did: str
    human_readable_id: str
    name: str
    description: str
    tags: list[str]
    trust_domain: str
    source_registry: str | None
    settlement_currency: str
    updated_at: datetime

    @property
    def identifier(self) -> Identifier:
        return Identifier(self.trust_domain, self.did)


class ListedAgent(VisibleAgent, frozen=True, kw_only=True):
    """An agent with its whole card."""

    card_id: int
    card_data: dict[str, Any]


class FoundAgent(VisibleAgent, frozen=True, kw_only=True):
    """An agent that a search found."""

    score: float
