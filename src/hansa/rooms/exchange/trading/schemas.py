"""Shapes of orders. Prices and amounts are decimal strings, quantities whole points."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID, uuid4

from pydantic import AfterValidator, Field, model_validator

from hansa.foundation.values.canonical import digest
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_positive
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain_and_visible
from hansa.rooms.exchange.matching import EndedBecause, Side, TimeInForce
from hansa.rooms.exchange.schemas import POINTS_MAX, REF_PATTERN

from .records import NewOrder, OrderStatus, ShownOrder, Trade
from .rules import TTL_MAX_SECONDS

CLIENT_ORDER_ID_MAX = 64
PAGE_MAX = 200
OrderType: TypeAlias = Literal["limit", "market"]


class OrderIn(RequestBody):
    """An order to buy or sell points."""

    listing: Annotated[str, Field(pattern=REF_PATTERN, description="Reference of the listing.")]
    side: Side
    qty: Annotated[int, Field(strict=True, ge=1, le=POINTS_MAX, description="Whole points.")]
    order_type: OrderType = Field(
        description="`limit` trades at `price` or better. `market` takes what is at most 10 % beyond the best opposite price; the rest ends."
    )
    price: PositiveAmount | None = Field(
        default=None,
        description="Of a `limit` order, a multiple of the listing's `tick`; a `market` order has none.",
    )
    client_order_id: (
        Annotated[str, Field(min_length=1, max_length=CLIENT_ORDER_ID_MAX), AfterValidator(plain_and_visible)]
        | None
    ) = Field(
        default=None,
        description="Name of the order, unique for the agent for ever: the same body returns the order.",
    )
    ttl_seconds: Annotated[int, Field(strict=True, ge=1, le=TTL_MAX_SECONDS)] | None = Field(
        default=None, description="The order expires so many seconds after it was placed."
    )
    time_in_force: TimeInForce | None = Field(
        default=None,
        description="`gtc` rests until it is filled or ends, `ioc` ends at once with what it did not fill, `fok` is filled whole or not at all."
        " By default `gtc`, for a market order `ioc`.",
    )
    post_only: bool = Field(
        default=False, strict=True, description="Refuse an order that would trade on arrival."
    )
    replaces: UUID | None = Field(
        default=None,
        description="Open order of this agent at this listing that ends as this one is placed; its priority is lost.",
    )
    approval_id: UUID | None = Field(
        default=None, description="The owner's approval of a buy, where one was asked for."
    )

    @model_validator(mode="after")
    def _priced_by_type(self) -> "OrderIn":
        if (self.price is None) != (self.order_type == "market"):
            raise ValueError("price belongs to a limit order, and a limit order needs it")
        return self

    def order(self, capability: str | None, scope: bytes | None) -> NewOrder:
        """The order that this request places."""
        price = None if self.price is None else parse_positive(self.price)
        default: TimeInForce = "ioc" if price is None else "gtc"
        return NewOrder(
            uuid4(),
            self.listing,
            self.side,
            self.qty,
            price,
            self.time_in_force or default,
            digest(self.model_dump(mode="json", exclude={"approval_id"})),
            self.post_only,
            self.replaces,
            self.client_order_id,
            self.ttl_seconds,
            self.approval_id,
            capability,
            scope,
        )


class FillOut(LazyModel):
    """A trade of an order."""

    trade_id: str
    price: str
    qty: int
    fee: str = Field(description="Part of the amount that the seller paid; `0` for the buyer.")

    @classmethod
    def of(cls, trade: Trade, side: Side) -> "FillOut":
        fee = format_amount(trade.fee) if side == "sell" else "0"
        return cls(trade_id=trade.id, price=format_amount(trade.price), qty=trade.qty, fee=fee)


class OrderOut(LazyModel):
    """An order with its trades."""

    order_id: UUID
    listing: str
    side: Side
    qty: int
    price: str | None
    time_in_force: TimeInForce
    status: OrderStatus
    remaining: int = Field(description="Points that are not filled, also of an order that has ended.")
    escrow_amount: str = Field(description="Units that the order holds.")
    fills: list[FillOut] = Field(description="The trades, oldest first.")
    client_order_id: str | None
    ended_because: EndedBecause | None
    seq: int = Field(description="Number of the order at its listing.")
    expires_at: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, shown: ShownOrder) -> "OrderOut":
        order = shown.order
        return cls(
            order_id=order.id,
            listing=order.ref,
            side=order.side,
            qty=order.qty,
            price=None if order.price is None else format_amount(order.price),
            time_in_force=order.time_in_force,
            status=order.status,
            remaining=order.remaining,
            escrow_amount=format_amount(order.escrow),
            fills=[FillOut.of(trade, order.side) for trade in shown.trades],
            client_order_id=order.client_order_id,
            ended_because=order.ended_because,
            seq=order.seq,
            expires_at=order.expires_at,
            created_at=order.created_at,
        )


class OrdersOut(LazyModel):
    """Orders of an agent, the newest first."""

    orders: list[OrderOut]
    next: UUID | None = Field(description="The cursor of the next page, null on the last.")

    @classmethod
    def of(cls, found: list[ShownOrder], limit: int) -> "OrdersOut":
        more = len(found) > limit
        return cls(
            orders=[OrderOut.of(one) for one in found[:limit]],
            next=found[limit - 1].order.id if more else None,
        )


class OwnOrdersQuery(LazyModel):
    """Bounds of a page of orders."""

    listing: Annotated[str, Field(pattern=REF_PATTERN)] | None = None
    status: OrderStatus | None = None
    limit: int = Field(default=50, ge=1, le=PAGE_MAX)
    next: UUID | None = Field(default=None, description="The cursor of the previous page.")


class CancelledOut(LazyModel):
    """How many orders were cancelled."""

    cancelled: int
