"""Shapes of webhooks."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import asdict
from pydantic import AfterValidator, Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.web_address import URL_MAX_CHARACTERS

from . import rules
from .records import Delivery, Webhook

DESCRIPTION_MAX_CHARACTERS = 200
EVENT_TYPES_MAX = 32


def _each_once(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


EventType = rules.WebhookEvent | Literal["*"]
EventTypes = Annotated[
    list[EventType], Field(min_length=1, max_length=EVENT_TYPES_MAX), AfterValidator(_each_once)
]
Url = Annotated[str, Field(min_length=1, max_length=URL_MAX_CHARACTERS)]
Description = Annotated[str, Field(max_length=DESCRIPTION_MAX_CHARACTERS)]


class WebhookIn(LazyModel):
    """A webhook to create."""

    url: Url = Field(description="A public https address.")
    event_types: EventTypes = Field(description="Event types; `*`: all, including future ones.")
    description: Description | None = None


class WebhookChangeIn(RequestBody):
    """What to change; an absent member stays as it is."""

    url: Url | None = None
    event_types: EventTypes | None = None
    description: Description | None = None
    is_active: StrictBool = Field(
        default=True, description="False stops the webhook; true or absent activates it."
    )

    def changes(self) -> dict[str, Any]:
        """The members of the webhook that are to be others."""
        given = self.model_dump(exclude_unset=True, exclude={"is_active"})
        stored = {name: value for name, value in given.items() if value is not None or name == "description"}
        return {**stored, "is_active": self.is_active}


class WebhookOut(LazyModel):
    """A webhook."""

    id: str
    url: str
    event_types: list[str]
    description: str | None
    is_active: bool
    stopped_by: rules.StoppedBy | None = Field(
        description="`owner`, `failures` after 20 failures in a row, or `gone` after the status 410."
    )
    stopped_at: datetime | None
    consecutive_failures: int
    created_at: datetime
    updated_at: datetime
    secret_version: str = Field(description="For If-Match of `rotate-secret`; changes with each new secret.")

    @classmethod
    def of(cls, webhook: Webhook, **more: Any) -> "WebhookOut":
        return cls(**asdict(webhook), **more)


class NewWebhookOut(WebhookOut):
    """A new webhook. The secret is shown only once."""

    secret: str


class RotatedSecretOut(LazyModel):
    """A new secret, shown only once. Deliveries are also signed with the former one until then."""

    id: str
    secret: str
    former_secret_until: datetime


class WebhookPage(Page[WebhookOut]):
    """Webhooks, oldest first."""

    @classmethod
    def of(cls, webhooks: list[Webhook], query: "PageQuery") -> "WebhookPage":
        page = webhooks[query.offset : query.offset + query.limit]
        return cls(
            items=[WebhookOut.of(webhook) for webhook in page],
            pagination=Pagination.of(total=len(webhooks), limit=query.limit, offset=query.offset),
        )


class PageQuery(LazyModel):
    """Which page."""

    limit: int = Field(default=50, ge=1, le=100)
    offset: int = Field(default=0, ge=0, le=10**9)


class DeliveriesQuery(PageQuery):
    """Which deliveries."""

    status: Literal["pending", "delivered", "failed"] | None = None


class DeliveryOut(LazyModel):
    """One delivery and the result of its last attempt."""

    id: str = Field(description="The webhook-id header, the same for every attempt.")
    webhook_id: str
    event_type: str
    payload: dict[str, Any]
    status: Literal["pending", "delivered", "failed"]
    tries: int
    next_try_at: datetime | None
    created_at: datetime
    last_tried_at: datetime | None
    answered_status: int | None = Field(description="The status code of the receiver's response.")
    trouble: str | None = Field(
        description="Why there was no response: `timeout`, `internal_host` and others."
    )

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryOut":
        return cls(
            id=delivery.id,
            webhook_id=delivery.webhook_id,
            event_type=delivery.event_type,
            payload=msgspec.json.decode(delivery.payload),
            status=delivery.status,
            tries=delivery.attempts,
            next_try_at=delivery.next_attempt_at,
            created_at=delivery.created_at,
            last_tried_at=delivery.last_attempt_at,
            answered_status=delivery.response_status,
            trouble=delivery.error,
        )


class DeliveryPage(Page[DeliveryOut]):
    """Deliveries, newest first."""

    @classmethod
    def of(cls, deliveries: list[Delivery], total: int, query: DeliveriesQuery) -> "DeliveryPage":
        return cls(
            items=[DeliveryOut.of(delivery) for delivery in deliveries],
            pagination=Pagination.of(total=total, limit=query.limit, offset=query.offset),
        )


class DeletedOut(LazyModel):
    """What was deleted."""

    id: str
    is_deleted: Literal[True] = True
