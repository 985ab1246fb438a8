"""Orders and trades as they are written and read. Prices in minor units, quantities in whole points."""

from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.exchange.matching import EndedBecause, Place, Resting, Side, TimeInForce

OWNER_KIND = "exchange_order"
"""Holds of resting buys; the owner's id is that of the order."""
EXPIRY = "exchange: expiry of orders"

OrderStatus: TypeAlias = Literal["open", "partially_filled", "filled", "cancelled", "expired"]


class NewOrder(msgspec.Struct, frozen=True):
    """An order that an agent places; without a price it is a market order. `digest` is the SHA-256 of its body.

    `approval_id`, `capability_token` and `request_scope` are those of a payment.
    """

    id: UUID
    ref: str
    side: Side
    qty: int
    price: Minor | None
    time_in_force: TimeInForce
    digest: bytes
    post_only: bool = False
    replaces: UUID | None = None
    client_order_id: str | None = None
    ttl_seconds: int | None = None
    approval_id: UUID | None = None
    capability_token: str | None = None
    request_scope: bytes | None = None


class Order(msgspec.Struct, frozen=True):
    """An order. `remaining` is the quantity that is not filled, also once it has ended."""

    ref: str
    seq: int
    id: UUID
    agent_did: str
    owner: str
    side: Side
    qty: int
    price: Minor | None
    time_in_force: TimeInForce
    post_only: bool
    remaining: int
    hold_id: int | None
    client_order_id: str | None
    digest: bytes
    expires_at: datetime | None
    is_counted: bool
    capability_id: UUID | None
    grant_id: UUID | None
    created_at: datetime
    ended_because: EndedBecause | None = None
    ended_at: datetime | None = None

    @property
    def status(self) -> OrderStatus:
        """The status as clients read it."""
        if self.ended_because is None:
            return "open" if self.remaining == self.qty else "partially_filled"
        if self.ended_because in {"filled", "expired"}:
            return "filled" if self.ended_because == "filled" else "expired"
        return "cancelled"

    @property
    def escrow(self) -> Minor:
        """Units that the order holds."""
        if self.side == "sell" or self.ended_because is not None or self.price is None:
            return ZERO
        return Minor(self.remaining * self.price)

    @property
    def resting(self) -> Resting:
        """The order as the matching sees it."""
        assert self.price is not None, "a market order does not rest"
        return Resting(self.seq, self.agent_did, self.owner, self.side, self.price, self.remaining)


class Trade(msgspec.Struct, frozen=True):
    """A trade; `fee` is the part of its amount that the seller paid."""

    ref: str
    seq: int
    taker_seq: int
    maker_seq: int
    taker_side: Side
    price: Minor
    qty: int
    buyer: str
    seller: str
    fee: Minor
    tx_id: int
    recorded_at: datetime

    @property
    def id(self) -> str:
        """Name of the trade on the wire."""
        return f"{self.ref}-{self.seq}"


class ShownOrder(msgspec.Struct, frozen=True):
    """An order with its trades, oldest first."""

    order: Order
    trades: list[Trade]


class Holding(msgspec.Struct):
    """Points of an agent, of which `locked` are offered by its open sells; `cost` is what the points cost it."""

    qty: int
    locked: int
    cost: int

    @property
    def free(self) -> int:
        """Points that may be offered."""
        return self.qty - self.locked

    def give(self, qty: int) -> None:
        """Take points away, with their part of the cost."""
        self.cost -= self.cost * qty // self.qty
        self.qty -= qty


def placed_at(seq: int, new: NewOrder, agent_did: str, owner: str, replaces: int | None) -> Place:
    """The command that places an order under this number."""
    return Place(
        seq,
        agent_did,
        owner,
        new.side,
        new.qty,
        new.price,
        new.time_in_force,
        post_only=new.post_only,
        replaces=replaces,
    )
