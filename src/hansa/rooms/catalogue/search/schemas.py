"""Shapes of searches and their answers."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.catalogue.limits import TAG_MAX
from hansa.rooms.catalogue.schemas import Liveness, Reputation

from .query import LIMIT_DEFAULT, Discovery, FoundCard, Pricing, Protocol, SearchQuery, Sort

QUERY_MAX = 100
ORIGINS_MAX = 600
LIMIT_MAX = 120
OFFSET_MAX = 10**9
PRICE_MAX = 10**9
PLAIN_QUERY_MIN = 3
PLAIN_QUERY_MAX = 200
PLAIN_LIMIT_MAX = 100
PROTOCOL = "`mcp`: cards with an MCP server; `a2a`: cards with another interface. A card may have both."


def _long_enough(query: str) -> str:
    if len(query.strip()) < PLAIN_QUERY_MIN:
        raise ValueError(f"at least {PLAIN_QUERY_MIN} characters besides blanks")
    return query


class PlainQuery(LazyModel):
    """The query of the plain search."""

    query: Annotated[str, AfterValidator(_long_enough)] = Field(
        min_length=PLAIN_QUERY_MIN,
        max_length=PLAIN_QUERY_MAX,
        description="Search text; plain text, no operators.",
    )
    limit: int = Field(default=20, ge=1, le=PLAIN_LIMIT_MAX)
    protocol: Protocol | None = Field(default=None, description=PROTOCOL)

    def search_query(self) -> SearchQuery:
        """Return the search of the request: agents alone."""
        return SearchQuery(q=self.query.strip(), protocol=self.protocol, agents_only=True, limit=self.limit)


class DiscoverQuery(LazyModel):
    """The query of the faceted search."""

    q: str = Field(
        default="",
        max_length=QUERY_MAX,
        description="Search text for name, description, tags, skills and DID; plain text, no operators.",
    )
    origins: str = Field(
        default="",
        max_length=ORIGINS_MAX,
        description="Names of registries, separated by commas; `local` is this registry.",
    )
    pricing: Pricing | None = Field(default=None, description="`paid`: cards with a base rate above zero.")
    protocol: Protocol | None = Field(default=None, description=PROTOCOL)
    max_price: float | None = Field(
        default=None,
        ge=0,
        le=PRICE_MAX,
        description="The highest stated rate, in the unit of this registry; free agents are found too, others in another unit not.",
    )
    tag: str | None = Field(default=None, max_length=TAG_MAX, description="A tag, spelled as in the card.")
    verified_only: bool = Field(
        default=False, description="The agent's own host served the card, or the agent signed it."
    )
    active_24h: bool = Field(
        default=False, description="Passed a health check or sent a heartbeat in the last 24 hours."
    )
    encircled_only: bool = False
    foreign_only: bool = Field(default=False, description="Also cards of another settlement currency.")
    answerable_only: bool = Field(
        default=False, description="Exclude stubs and agents that failed the last health check."
    )
    bonded_only: bool = False
    include_unbonded: bool = Field(
        default=False,
        description="For administrators of a registry that hides agents without a bond: show them. Ignored otherwise.",
    )
    sort: Sort = "relevance"
    limit: int = Field(default=LIMIT_DEFAULT, ge=1, le=LIMIT_MAX)
    offset: int = Field(default=0, ge=0, le=OFFSET_MAX)

    def search_query(self, *, by_administrator: bool) -> SearchQuery:
        """Return the search of the request."""
        return SearchQuery(
            q=self.q.strip(),
            origins=tuple(sorted({name.strip() for name in self.origins.split(",") if name.strip()})),
            pricing=self.pricing,
            protocol=self.protocol,
            max_price=self.max_price,
            tag=self.tag or None,
            verified_only=self.verified_only,
            active_24h=self.active_24h,
            encircled_only=self.encircled_only,
            foreign_only=self.foreign_only,
            answerable_only=self.answerable_only,
            bonded_only=self.bonded_only,
            includes_unbonded=self.include_unbonded and by_administrator,
            sort=self.sort,
            limit=self.limit,
            offset=self.offset,
        )


class Marks(LazyModel):
    """Registry data of an agent; none of it comes from its card."""

    earned: str | None = Field(description="The grade by verified jobs; null for mirrored cards.")
    verified: bool
    encircled: bool
    bonded: bool


class FoundAgent(LazyModel):
    """A card found by a search, and why it matches."""

    did: str | None = Field(description="Null for a listing card that belongs to no agent.")
    card_id: UUID
    human_readable_id: str
    name: str
    description: str
    tags: list[str]
    pricing: dict[str, Any] | None
    origin: str = Field(description="`local`, or the name of the registry that the card is mirrored from.")
    is_federated: bool
    settlement_currency: str
    trust_domain: str
    reputation: Reputation | None = Field(description="Null for mirrored cards.")
    liveness: Liveness
    marks: Marks
    score: float
    matched_in: list[str] = Field(
        description="One or more of `name`, `tags`, `skills`, `description`, `did`."
    )
    matched_words: list[str]

    @classmethod
    def of(cls, card: FoundCard) -> "FoundAgent":
        """The card as it is answered."""
        reputation = Reputation.of(card)
        return cls.model_construct(
            did=card.did,
            card_id=card.id,
            human_readable_id=card.human_readable_id,
            name=card.name,
            description=card.description,
            tags=card.tags,
            pricing=card.pricing,
            origin=card.origin,
            is_federated=card.is_federated,
            settlement_currency=card.settlement_currency,
            trust_domain=card.trust_domain,
            reputation=reputation,
            liveness=Liveness.model_construct(state=card.liveness, checked_at=card.liveness_checked_at),
            marks=Marks.model_construct(
                earned=reputation.mark if reputation else None,
                verified=card.verified,
                encircled=card.encircled,
                bonded=card.bonded,
            ),
            score=card.score,
            matched_in=list(card.why.fields),
            matched_words=list(card.why.words),
        )


class Discovered(LazyModel):
    """The results of a search, best match first."""

    results: list[FoundAgent]
    total: int
    limit: int

    @classmethod
    def of(cls, found: Discovery, search_query: SearchQuery) -> "Discovered":
        """The answer of the plain search."""
        results = [FoundAgent.of(card) for card in found.results]
        return cls.model_construct(results=results, total=found.total, limit=search_query.limit)


class FacetsOut(LazyModel):
    """Counts over all results, not only this page; for tags the most frequent ones."""

    origins: dict[str, int]
    pricing: dict[str, int]
    tags: dict[str, int]


class DiscoveredPage(LazyModel):
    """A page of results of a faceted search."""

    results: list[FoundAgent]
    total: int
    facets: FacetsOut
    limit: int
    offset: int
    sort: Sort

    @classmethod
    def of(cls, found: Discovery, search_query: SearchQuery) -> "DiscoveredPage":
        """The answer of the faceted search."""
        facets = found.facets
        return cls.model_construct(
            results=[FoundAgent.of(card) for card in found.results],
            total=found.total,
            facets=FacetsOut.model_construct(
                origins=facets.origins, pricing=facets.pricing, tags=facets.tags
            ),
            limit=search_query.limit,
            offset=search_query.offset,
            sort=search_query.sort,
        )
