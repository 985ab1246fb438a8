"""Shapes of the journal's answers."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class EventRecord(BaseModel):
    """One event of the journal."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    sequence: int = Field(description="Position in the journal; rises, not without gaps.")
    event_type: str
    aggregate_id: str
    aggregate_type: str
    data: dict[str, Any]
    metadata: dict[str, Any]
    timestamp: datetime
    version: int
    source_service: str
    idempotency_key: str | None


class RecentEvents(BaseModel):
    """The newest events, newest first."""

    events: list[EventRecord]
    count: int
    ring_depth: int = Field(description="How many events this reading could show at the most.")
    scope: str = Field(description="The frame whose events these are.")
    is_seed: bool = Field(
        description="Whether the ring was filled from the store; false once it follows live events."
    )
