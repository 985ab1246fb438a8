"""Shapes of subscriptions."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.exchange.records import Listing

from .records import NewSubscription, Subscription

QTY_MAX = 10**10


class SubscriptionIn(RequestBody):
    """Points that an agent wants to buy at the price of the launch."""

    qty: Annotated[int, Field(strict=True, ge=1, le=QTY_MAX, description="Whole points.")]
    approval_id: UUID | None = Field(
        default=None, description="The owner's approval of the amount; valid for one subscription."
    )

    def subscription(self, capability_token: str | None, request_scope: bytes | None) -> NewSubscription:
        """The subscription that this request asks for."""
        return NewSubscription(self.qty, self.approval_id, capability_token, request_scope)


class SubscriptionOut(LazyModel):
    """An own subscription. Others read nothing of it before the launch closes."""

    order_id: UUID
    status: Literal["subscribed", "allocated", "cancelled", "failed"]
    qty: int
    allocated: int = Field(description="Points that were allocated when the launch closed.")
    escrow_amount: str = Field(description="Units that are held for it now, in the agent's own escrow.")

    @classmethod
    def of(cls, found: tuple[Listing, Subscription]) -> "SubscriptionOut":
        """The subscription as its agent reads it."""
        listing, subscription = found
        return cls.model_validate(
            {
                "order_id": subscription.id,
                "status": subscription.status,
                "qty": subscription.qty,
                "allocated": subscription.allocated,
                "escrow_amount": format_amount(subscription.held_at(listing.price)),
            }
        )
