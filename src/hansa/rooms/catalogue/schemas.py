"""Shapes of requests and answers about cards."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol
from uuid import UUID

from pydantic import AfterValidator, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa_verify import grade_of as band_of

from .form import CheckedCard, sentence_of
from .limits import TAG_MAX, Trouble
from .listing import Filters
from .marks import grade_of
from .namespaces import proof_of
from .pages import CardsPage, PageRequest
from .records import Card, Tombstone

LOCAL_ORIGIN = "local"
SKIP_MAX = 10**9
CURSOR_MAX = 512


def in_utc(timestamp: datetime) -> datetime:
    """The time in UTC; one without a zone is in UTC already. Raises: ValueError out of range."""
    try:
        return timestamp.replace(tzinfo=UTC) if timestamp.tzinfo is None else timestamp.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is out of range") from None


class CardListQuery(LazyModel):
    """The query of the card list."""

    skip: int = Field(default=0, ge=0, le=SKIP_MAX)
    limit: int = Field(default=100, ge=1, le=5000)
    active_only: bool = True
    search: str | None = Field(
        default=None, max_length=100, description="Text in name or description, case-insensitive."
    )
    tags: list[Annotated[str, Field(min_length=1, max_length=TAG_MAX)]] = Field(
        default=[], max_length=20, description="Tags that a card or its skills must all have."
    )
    has_tee: bool | None = Field(default=None, description="Whether TEE details are declared.")
    tee_type: str | None = Field(default=None, max_length=50)
    owned_only: bool = Field(default=False, description="Only own cards; requires a developer credential.")
    include_federated: bool = False
    include_card_data: bool = False
    bearing_encirclement: bool = False
    foreign_only: bool = Field(default=False, description="Also cards of another settlement currency.")
    updated_since: Annotated[datetime, ISO_ONLY, AfterValidator(in_utc)] | None = Field(
        default=None,
        description="Changed at or after this time, oldest change first; without a zone: UTC.",
    )
    natives_only: bool = Field(
        default=False, description="Only cards of this registry; overrides include_federated."
    )
    include_unlisted: bool = Field(default=False, description="Only for administrators of any area.")
    next: str | None = Field(
        default=None,
        max_length=CURSOR_MAX,
        description="The `next` of the previous page.",
    )
    resume: str | None = Field(
        default=None,
        max_length=CURSOR_MAX,
        description="The `resume` of an earlier list of changes: the changes since then. `next` accepts it as well.",
    )

    def filters(self, *, own_currency: str, developer_id: int | None, may_see_unlisted: bool) -> Filters:
        """Return the filters of the wanted cards."""
        return Filters(
            own_currency=own_currency,
            owner=developer_id,
            active_only=self.active_only,
            search=self.search,
            tags=tuple(self.tags),
            has_tee=self.has_tee,
            tee_type=self.tee_type,
            owned_only=self.owned_only,
            include_federated=self.include_federated,
            natives_only=self.natives_only,
            bearing_encirclement=self.bearing_encirclement,
            foreign_only=self.foreign_only,
            include_unlisted=self.include_unlisted,
            may_see_unlisted=may_see_unlisted,
        )

    def page(self) -> PageRequest:
        """Return the request of the page."""
        place = self.next or self.resume
        return PageRequest(self.limit, self.skip, self.updated_since, place, self.include_card_data)


class Listing(LazyModel):
    """How the card is listed."""

    unlisted: bool


class NamespaceProofOut(LazyModel):
    """Proof that a namespace is of the owner of a card: one of the two is enough."""

    txt_name: str = Field(description="Name of the TXT record.", examples=["example.com"])
    txt_value: str = Field(
        description="Value of the TXT record, and the line of the file.", examples=["hansa-verify=9e01…"]
    )
    well_known: str = Field(
        description="Address of the file.", examples=["https://example.com/.well-known/hansa-verify"]
    )


class McpServerOut(LazyModel):
    """MCP server that was imported into a card; `card_data.mcp_server` has its statements and the hash of its tools."""

    name: str = Field(description="Name in its server.json.", examples=["com.example/weather"])
    verified: bool = Field(
        description="Whether the domain of the name, which is the host of the remote or its parent, states the proof."
    )
    verified_at: datetime | None
    tools_checked_at: datetime | None = Field(description="Time of the last list of tools that was read.")
    proof: NamespaceProofOut

    @classmethod
    def of(cls, card: Card) -> "McpServerOut | None":
        """The server of a card; cards without one have none."""
        if card.mcp_name is None:
            return None
        proof = proof_of(card.id, card.mcp_name, card.trust_domain)
        return cls(
            name=card.mcp_name,
            verified=card.namespace_verified_at is not None,
            verified_at=card.namespace_verified_at,
            tools_checked_at=card.tools_checked_at,
            proof=NamespaceProofOut(txt_name=proof.domain, txt_value=proof.text, well_known=proof.url),
        )


class CardOut(LazyModel):
    """An agent card with its status in this registry."""

    id: UUID
    card_id: int
    did: str | None
    human_readable_id: str
    developer_id: int | None
    name: str
    description: str
    is_active: bool
    status: str = Field(description="`active`, `suspended` or `revoked`.")
    card_data: dict[str, Any] | None
    listing: Listing
    created_at: datetime
    updated_at: datetime
    last_pull_attempt_at: datetime | None
    last_pull_status: str | None
    pull_failures: int
    source_registry: str | None
    settlement_currency: str
    mcp_server: McpServerOut | None = Field(description="Null where no MCP server was imported.")

    def body(self) -> bytes:
        """The answer's bytes, with every number as it was written; its tag is made of them."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def members(cls, card: Card) -> dict[str, Any]:
        """The members that a card has in every answer."""
        known = {
            name: getattr(card, name) for name in CardOut.model_fields.keys() - {"listing", "mcp_server"}
        }
        return {**known, "listing": Listing(unlisted=card.unlisted), "mcp_server": McpServerOut.of(card)}

    @classmethod
    def of(cls, card: Card) -> "CardOut":
        """The card as it is answered."""
        return cls(**cls.members(card))


class TombstoneOut(LazyModel):
    """A card that left the public listings in the last 30 days, without its text.

    With `deleted_at` it is gone for good; without, hide it, and keep what leads to the agent by its DID. A card that
    comes back is an item again.
    """

    id: UUID
    did: str | None
    listing: Listing
    is_active: bool
    status: str
    updated_at: datetime
    deleted_at: datetime | None

    @classmethod
    def of(cls, stone: Tombstone) -> "TombstoneOut":
        """The tombstone as it is answered."""
        copied = {name: getattr(stone, name) for name in cls.model_fields if name != "listing"}
        return cls(**copied, listing=Listing(unlisted=stone.unlisted))


class CardPageOut(Page[CardOut]):
    """A page of cards; `next` is the cursor of the next page, null on the last page.

    A page whose documents would have more than 64 MiB ends before its limit. Its `pagination.limit` is then the number of its cards, so
    that the next page is at `offset` + `limit` also for a reader who goes on with `skip`.

    A list of changes (`updated_since`) also contains tombstones; limit and total count items only.
    """

    next: str | None
    resume: str | None = Field(
        description="In a list of changes: continues after this page at any later time, also after the last page."
    )
    total_is_exact: bool = Field(
        description="False if there are more than `total_items`: cards that must be checked one by one are"
        " counted up to 30,000, and up to 10,000 in a search and in a list of changes."
    )
    tombstones: list[TombstoneOut] | None

    @classmethod
    def around(cls, page: CardsPage, limit: int) -> tuple[bytes, bytes]:
        """Return the page as it is answered, without its items: the bytes before them and the bytes after them.

        A page with cards that ended early has their number as its limit.
        """
        limit = (page.chosen.is_cut and len(page.chosen.listed)) or limit
        stones = [TombstoneOut.of(stone) for stone in page.tombstones]
        empty = cls(
            items=[],
            pagination=Pagination.of(total=page.total, limit=limit, offset=page.offset),
            next=page.next,
            resume=page.resume,
            tombstones=stones if page.follows_changes else None,
            total_is_exact=page.total_is_exact,
        )
        before, after = empty.model_dump_json().encode().split(b"[]", 1)
        return before + b"[", b"]" + after


class Liveness(LazyModel):
    """Whether the agent answered the last health check."""

    state: str = Field(description="`unknown` before the first health check, then `alive` or `unreachable`.")
    checked_at: datetime | None


class Rated(Protocol):
    """A card whose agent has a reputation here, unless it is mirrored."""

    @property
    def did(self) -> str | None: ...
    @property
    def source_registry(self) -> str | None: ...
    @property
    def verified_jobs(self) -> int: ...
    @property
    def agent_score(self) -> int: ...


class Reputation(LazyModel):
    """The score of an agent of this registry, and its mark by its verified jobs."""

    score: int = Field(description="From 0 to 1000, computed once a day from settled payments and rulings.")
    grade: str = Field(description="The band of the score, from `unrated` to `excellent`.")
    verified_jobs: int
    mark: str | None = Field(description="The mark earned, from `Proven` (1 job) to `Sovereign` (250).")
    next_mark_at: int | None = Field(description="The number of jobs of the next mark.")

    @classmethod
    def of(cls, card: Rated) -> "Reputation | None":
        """The reputation of an agent; mirrored cards and cards without an agent have none here."""
        if card.did is None or card.source_registry is not None:
            return None
        earned = grade_of(card.verified_jobs)
        return cls.model_construct(
            score=card.agent_score,
            grade=band_of(card.agent_score),
            verified_jobs=card.verified_jobs,
            mark=earned.mark,
            next_mark_at=earned.next_mark_at,
        )


class AgentOut(CardOut):
    """An agent, local or mirrored, with its card and its home registry."""

    origin: str = Field(description="`local`, or the name of the registry that the card is mirrored from.")
    is_federated: bool
    trust_domain: str
    reputation: Reputation | None = Field(description="Null for mirrored cards.")
    liveness: Liveness

    @classmethod
    def of(cls, card: Card) -> "AgentOut":
        """The agent as it is answered."""
        return cls(**cls.members(card), **_home(card))


class ValidateCardIn(LazyModel):
    """A card to validate; any JSON value is accepted."""

    card_data: Any = Field(description="The agent card, A2A 1.0 or 0.3.")


class CardTrouble(LazyModel):
    """The error of one member, or how it was completed."""

    field: str = Field(description="The JSON path of the member, such as `$.skills[0].tags`.")
    message: str

    @classmethod
    def of(cls, error: Trouble) -> "CardTrouble":
        """The note as it is answered."""
        return cls(field=error.field, message=error.message)


class CardVerdict(LazyModel):
    """Whether the card can be stored, and the card as it would be stored."""

    is_valid: bool
    detail: str
    errors: list[CardTrouble]
    completed: list[CardTrouble] = Field(
        description="Members of A2A 1.0 that the card lacks and their default values; empty if the card is invalid."
    )
    validated_card_data: dict[str, Any] | None

    @classmethod
    def of(cls, checked: CheckedCard) -> "CardVerdict":
        """The verdict as it is answered."""
        return cls(
            is_valid=checked.card is not None,
            detail=_verdict_sentence(checked),
            errors=[CardTrouble.of(error) for error in checked.troubles],
            completed=[CardTrouble.of(note) for note in checked.completions],
            validated_card_data=checked.card,
        )


def _verdict_sentence(checked: CheckedCard) -> str:
    if checked.troubles:
        return sentence_of(checked.troubles[0])
    if checked.completions:
        return f"The card is valid; members completed: {len(checked.completions)}."
    return "The card is valid."


def _home(card: Card) -> dict[str, Any]:
    return {
        "origin": card.source_registry or LOCAL_ORIGIN,
        "is_federated": card.source_registry is not None,
        "trust_domain": card.trust_domain,
        "reputation": Reputation.of(card),
        "liveness": Liveness(state=card.liveness, checked_at=card.liveness_checked_at),
    }
