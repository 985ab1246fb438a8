"""Cards as entries are made from them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .identifiers import Identifier


@dataclass(frozen=True, kw_only=True)
class ShownAgent:
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


@dataclass(frozen=True, kw_only=True)
class ListedAgent(ShownAgent):
    """An agent with its whole card."""

    card_id: int
    card_data: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FoundAgent(ShownAgent):
    """An agent that a search found."""

    score: float
