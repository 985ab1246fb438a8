"""Commands to a book: place an order, or end one that rests.

`seq` is drawn under the lock of the listing, never from a clock; other acts of the listing draw numbers of the same sequence. Prices are
minor units, quantities whole points. The tick of the listing is checked before a command is made.
"""

from typing import Literal, TypeAlias

import msgspec

Side: TypeAlias = Literal["buy", "sell"]
TimeInForce: TypeAlias = Literal["gtc", "ioc", "fok"]
EndedByCommand: TypeAlias = Literal["cancelled", "expired", "suspended", "delisted"]


class Place(msgspec.Struct, frozen=True, tag="place"):
    """A new order, named by its `seq`; without a price it is a market order.

    `owner` is the owner of the agent: two orders of one owner do not trade. `replaces` is the seq of an order of `agent` that this one
    takes the place of, without its priority.

    Raises: ValueError where the terms exclude each other or a figure is not greater than 0.
    """

    seq: int
    agent: str
    owner: str
    side: Side
    qty: int
    price: int | None
    time_in_force: TimeInForce = "gtc"
    post_only: bool = False
    replaces: int | None = None

    def __post_init__(self) -> None:
        if self.qty <= 0 or (self.price is not None and self.price <= 0):
            raise ValueError("qty and price must be greater than 0")
        if self.price is None and self.time_in_force != "ioc":
            raise ValueError("a market order is immediate or cancelled")
        if self.post_only and self.time_in_force != "gtc":
            raise ValueError("an order that is only posted rests")


class End(msgspec.Struct, frozen=True, tag="end"):
    """End of a resting order: by its agent, at its expiry, or because its agent or its listing is stopped."""

    seq: int
    order: int
    because: EndedByCommand


Command: TypeAlias = Place | End
