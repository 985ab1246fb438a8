"""Cards as they are written, read and found."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor
from hansa.foundation.values.rights import Owner

from .rules import Findable


class NewCard(msgspec.Struct, frozen=True):
    """A native card about to be written."""

    id: UUID
    did: str | None
    developer_id: int
    organization_id: UUID | None
    human_readable_id: str
    host: str | None
    settlement_currency: str
    trust_domain: str
    content: Findable


class StoredCard(msgspec.Struct, frozen=True):
    """A card as just written."""

    id: UUID
    card_id: int
    did: str | None
    human_readable_id: str
    name: str
    is_stub: bool


class Card(msgspec.Struct, frozen=True):
    """A card as read; `card_data` is None where it was not asked for, `status_since` while the card is active."""

    id: UUID
    card_id: int
    did: str | None
    human_readable_id: str
    developer_id: int | None
    organization_id: UUID | None
    name: str
    description: str
    is_active: bool
    status: str
    status_since: date | None
    is_stub: bool
    unlisted: bool
    version: int
    created_at: datetime
    updated_at: datetime
    last_pull_attempt_at: datetime | None
    last_pull_status: str | None
    pull_failures: int
    source_registry: str | None
    settlement_currency: str
    trust_domain: str
    liveness: str
    liveness_checked_at: datetime | None
    last_alive_at: datetime | None
    host_verified_at: datetime | None
    signature_verified_at: datetime | None
    encircled: bool
    bonded: bool
    bond_state: str | None
    bond_amount: Minor | None
    flare_corner: str | None
    flare_encirclement: str | None
    flare_overlay: str | None
    verified_jobs: int
    agent_score: int
    track_record: dict[str, Any] | None
    hidden_since: datetime | None
    mcp_name: str | None
    tools_checked_at: datetime | None
    namespace_verified_at: datetime | None
    card_data: dict[str, Any] | None = None

    @property
    def owner(self) -> Owner | None:
        """The owner of the card; None for the card of another registry."""
        return None if self.developer_id is None else Owner.of(self.developer_id, self.organization_id)

    @property
    def is_unverified_server(self) -> bool:
        """Return whether an MCP server was imported into the card, and nothing proves that its namespace is the owner's."""
        return self.mcp_name is not None and self.namespace_verified_at is None

    @property
    def is_withdrawn(self) -> bool:
        """Return whether the owner switched the card off, or the agent is revoked."""
        return not self.is_active or self.status == "revoked"

    @property
    def state(self) -> str:
        """Names all that a write of the owner could lose: the document, the switch and the listing."""
        return f"{self.id} {self.version} {self.is_active} {self.unlisted}"


class ListedCard(msgspec.Struct, frozen=True):
    """A card on a page of a list, before it is read; `card_bytes` is the size of its document."""

    card_id: int
    updated_at: datetime
    card_bytes: int


class CardName(msgspec.Struct, frozen=True):
    """The card of an agent, as a link names it."""

    did: str
    card_id: int
    name: str


class WorkOfAgent(msgspec.Struct, frozen=True):
    """A listed agent with what it has settled: verified jobs, completed contracts and received units, as a decimal string."""

    did: str
    name: str
    description: str
    verified_jobs: int
    contracts_completed: int
    volume: str


class Bond(msgspec.Struct, frozen=True):
    """Bond of an agent as its card shows it; without a state there is none. `amount` in minor units."""

    state: str | None
    amount: Minor | None
    is_bonded: bool


class Flares(msgspec.Struct, frozen=True):
    """Flares that an agent shows, by slot."""

    corner: str | None = None
    encirclement: str | None = None
    overlay: str | None = None


class FlareShown(msgspec.Struct, frozen=True):
    """Mark of an agent with its grade, 0 without one; a foreign one includes work for other registries. And its flares."""

    mark: str | None
    grade: int
    is_foreign: bool
    flares: Flares


class Tombstone(msgspec.Struct, frozen=True):
    """A card that has left the public listings, as those who follow changes receive it: no name and no text.

    `deleted_at` is set where the card is gone for good.
    """

    id: UUID
    did: str | None
    unlisted: bool
    is_active: bool
    status: str
    updated_at: datetime
    deleted_at: datetime | None

    @classmethod
    def of(cls, card: Card) -> "Tombstone":
        """Return the tombstone of a hidden card."""
        return cls(
            id=card.id,
            did=card.did,
            unlisted=card.unlisted,
            is_active=card.is_active,
            status=card.status,
            updated_at=card.updated_at,
            deleted_at=card.hidden_since if card.status == "revoked" else None,
        )
