"""Records of webhooks and deliveries, as the code holds them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import msgspec

DeliveryStatus = Literal["pending", "delivered", "failed"]


class Webhook(msgspec.Struct, frozen=True):
    """A webhook as its owner sees it."""

    id: str
    url: str
    event_types: list[str]
    description: str | None
    is_active: bool
    stopped_by: str | None
    stopped_at: datetime | None
    consecutive_failures: int
    created_at: datetime
    updated_at: datetime
    secret_version: str


@dataclass(frozen=True)
class Delivery:
    """A delivery as its owner sees it."""

    id: str
    webhook_id: str
    event_type: str
    payload: str = field(repr=False)
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime | None
    created_at: datetime
    last_attempt_at: datetime | None
    response_status: int | None
    error: str | None


@dataclass(frozen=True)
class PendingDelivery:
    """A delivery to be sent now. `moment` is the database's time in epoch seconds."""

    webhook_id: str
    url: str = field(repr=False)
    place: str
    delivery_id: str
    event_type: str
    payload: str = field(repr=False)
    attempts: int
    moment: int
    sealed_secrets: Sequence[bytes] = field(repr=False)


class Due(msgspec.Struct, frozen=True):
    """When a webhook has something to send; `place` is the host and port that it goes to."""

    webhook_id: str
    place: str
    due_at: datetime


class Locked(msgspec.Struct, frozen=True):
    """A webhook locked at the end of an attempt."""

    developer_id: int
    is_active: bool
    consecutive_failures: int
