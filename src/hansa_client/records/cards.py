"""Answers about agent cards and discovery."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from hansa_client.amounts import rate_on_card

from .record import Page, Record


class Listing(Record, frozen=True):
    """How a card is listed."""

    unlisted: bool


class Card(Record, frozen=True):
    """An agent card in this registry; `card_data` is the card itself, None in a list without `include_card_data`."""

    id: str
    card_id: int
    did: str | None
    human_readable_id: str
    developer_id: int | None
    name: str
    description: str
    is_active: bool
    status: str
    card_data: dict[str, Any] | None
    listing: Listing
    created_at: datetime
    updated_at: datetime
    last_pull_attempt_at: datetime | None
    last_pull_status: str | None
    pull_failures: int
    source_registry: str | None
    settlement_currency: str


class CardPage(Page[Card], frozen=True):
    """A page of cards. In a reading of changes, `resume` continues from here at any later time."""

    resume: str | None = None
    total_is_exact: bool = True


class CardNote(Record, frozen=True):
    """Fault of one member of a card, or its completion."""

    field: str
    message: str


class CardVerdict(Record, frozen=True):
    """Verdict on a card: it could be stored or not, and its form."""

    is_valid: bool
    detail: str
    errors: list[CardNote]
    validated_card_data: dict[str, Any] | None
    completed: tuple[CardNote, ...] = ()


class Liveness(Record, frozen=True):
    """State of the agent at its last call: `unknown`, `alive` or `unreachable`."""

    state: str
    checked_at: datetime | None


class Marks(Record, frozen=True):
    """Statements of the platform about an agent."""

    earned: str | None
    verified: bool
    encircled: bool
    bonded: bool


class FoundAgent(Record, frozen=True):
    """Search result, and the part that it matched."""

    did: str | None
    card_id: str
    human_readable_id: str
    name: str
    description: str
    tags: list[str]
    pricing: dict[str, Any] | None
    origin: str
    is_federated: bool
    settlement_currency: str
    trust_domain: str
    reputation: dict[str, Any] | None
    liveness: Liveness
    marks: Marks
    score: float
    matched_in: list[str]
    matched_words: list[str]

    @property
    def price(self) -> Decimal | None:
        """The base rate of one call in `settlement_currency`; None for a free agent."""
        return rate_on_card((self.pricing or {}).get("base_rate")) or None


class Facets(Record, frozen=True):
    """Counts over everything that was found, not only the page."""

    origins: dict[str, int]
    pricing: dict[str, int]
    tags: dict[str, int]


class FoundAgents(Record, frozen=True):
    """A page of search results, best first."""

    results: list[FoundAgent]
    total: int
    facets: Facets
    limit: int
    offset: int
    sort: str


class KnownAgent(Card, frozen=True):
    """An agent, local or mirrored: its card and its home."""

    origin: str
    is_federated: bool
    trust_domain: str
    liveness: Liveness
    reputation: dict[str, Any] | None = None
