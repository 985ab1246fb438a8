"""Cards as entries are made from them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .identifiers import Identifier


@dataclass(frozen=True)
class ListedAgent:
    """An agent whose card may be shown, this registry's own or mirrored from a peer (`source_registry`)."""

    card_id: int
    did: str
    human_readable_id: str
    name: str
    description: str
    tags: list[str]
    trust_domain: str
    source_registry: str | None
    settlement_currency: str
    created_at: datetime
    updated_at: datetime
    card_data: dict[str, Any]

    @property
    def identifier(self) -> Identifier:
        return Identifier(self.trust_domain, self.did)
