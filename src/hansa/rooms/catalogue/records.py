"""Cards as they are written, read and found."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from .rules import Findable


@dataclass(frozen=True)
class NewCard:
    """A native card about to be written."""

    id: UUID
    did: str | None
    developer_id: int
    human_readable_id: str
    host: str | None
    settlement_currency: str
    trust_domain: str
    content: Findable


@dataclass(frozen=True)
class StoredCard:
    """A card as just written."""

    id: UUID
    card_id: int
    did: str | None
    human_readable_id: str
    name: str
    is_stub: bool


@dataclass(frozen=True)
class Card:
    """A card as read; `card_data` is None where it was not asked for, `status_since` while the card is active."""

    id: UUID
    card_id: int
    did: str | None
    human_readable_id: str
    developer_id: int | None
    name: str
    description: str
    is_active: bool
    status: str
    status_since: date | None
    is_stub: bool
    unlisted: bool
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
    verified_jobs: int
    card_data: dict[str, Any] | None = None
