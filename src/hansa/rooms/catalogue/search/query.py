"""Query of a reader, and the cards found."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

LOCAL_ORIGIN = "local"
LIMIT_DEFAULT = 30

Pricing = Literal["free", "paid"]
Protocol = Literal["mcp", "a2a"]
Sort = Literal["relevance", "newest", "reputation", "price_low", "price_high", "proven"]


class SearchQuery(msgspec.Struct, frozen=True):
    """A search. `q` is plain text, never a language; without it every card that may be shown is wanted.

    `origins` are names of registries, `local` for this one; `tag` is a tag as it is written on the card,
    and of `any_tags` one is enough. `includes_unbonded` counts where agents without a bond are hidden.
    """

    q: str = ""
    origins: tuple[str, ...] = ()
    pricing: Pricing | None = None
    protocol: Protocol | None = None
    max_price: float | None = None
    """Highest stated rate, in the unit of this registry; cards in another unit are left out."""
    tag: str | None = None
    any_tags: tuple[str, ...] = ()
    verified_only: bool = False
    active_24h: bool = False
    encircled_only: bool = False
    foreign_only: bool = False
    answerable_only: bool = False
    bonded_only: bool = False
    includes_unbonded: bool = False
    agents_only: bool = False
    sort: Sort = "relevance"
    limit: int = LIMIT_DEFAULT
    offset: int = 0


class Explanation(msgspec.Struct, frozen=True):
    """The words of the query that a card answers, and where: among `name`, `tags`, `skills`, `description`, `did`."""

    fields: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class FoundCard(msgspec.Struct, frozen=True):
    """A card as a search shows it. `did` is None for a listing card, which is no agent of any registry."""

    id: UUID
    card_id: int
    did: str | None
    human_readable_id: str
    name: str
    description: str
    tags: list[str]
    pricing: dict[str, Any] | None
    source_registry: str | None
    settlement_currency: str
    trust_domain: str
    is_stub: bool
    encircled: bool
    bonded: bool
    verified: bool
    verified_jobs: int
    agent_score: int
    liveness: str
    liveness_checked_at: datetime | None
    last_alive_at: datetime | None
    created_at: datetime
    updated_at: datetime
    score: float
    why: Explanation

    @property
    def origin(self) -> str:
        return self.source_registry or LOCAL_ORIGIN

    @property
    def is_federated(self) -> bool:
        return self.source_registry is not None


class Facets(msgspec.Struct, frozen=True):
    """How many of all that was found are of each origin, free or paid, and have each of the commonest tags."""

    origins: dict[str, int] = msgspec.field(default_factory=dict)
    pricing: dict[str, int] = msgspec.field(default_factory=dict)
    tags: dict[str, int] = msgspec.field(default_factory=dict)


class Discovery(msgspec.Struct, frozen=True):
    """Page of the cards found, the best first, with the total and the facets of all of them."""

    results: list[FoundCard]
    total: int
    facets: Facets
