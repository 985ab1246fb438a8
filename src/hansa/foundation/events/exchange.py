"""Facts of the exchange of points. All are always recorded, and public but for those of orders. Prices are decimal strings, quantities whole points."""

from typing import ClassVar

import msgspec

from hansa.foundation.events.base import AgentEvent, Event


class ListingEvent(Event, frozen=True):
    """A fact about one listing; it concerns the treasury of its organization."""

    aggregate_type: ClassVar[str] = "listing"
    is_always_recorded: ClassVar[bool] = True

    ref: str
    treasury_did: str

    @property
    def aggregate_id(self) -> str:
        return self.treasury_did


class ListingApproved(ListingEvent, frozen=True):
    """A listing was approved: `terms_sha256` is over the canonical JSON of its terms, which are final from now on."""

    terms_sha256: str
    fee_bps: int
    opens_at: str
    closes_at: str


class LaunchClosed(ListingEvent, frozen=True):
    """A launch has ended: `sold` points are allocated at `price`; none where it failed."""

    price: str
    sold: int


class ListingHalted(ListingEvent, frozen=True):
    """An administrator halted the trade of a listing: orders can only be cancelled."""

    reason: str


class ListingResumed(ListingEvent, frozen=True):
    """An administrator let the trade of a listing go on."""

    reason: str


class ListingDelisted(ListingEvent, frozen=True):
    """An administrator ended the trade of a listing for good."""

    reason: str


class ListingExpired(ListingEvent, frozen=True):
    """The term of a listing has ended: its points are void."""


class TradeExecuted(ListingEvent, frozen=True):
    """Points were traded: `seq` is the number of the trade at its listing, `fee` the part of the amount that the seller paid."""

    trade_id: str
    seq: int
    price: str
    qty: int
    taker_side: str
    buyer: str
    seller: str
    fee: str
    tx_id: int


class BookLevel(msgspec.Struct, frozen=True):
    """Change of one level of a book: points and orders that came to it, negative where they left it."""

    side: str
    price: str
    qty: int
    orders: int


class BookChanged(ListingEvent, frozen=True):
    """The book of a listing from the number `after` to the number `seq`: one transaction. A change of the book begins where the last one ended."""

    after: int
    seq: int
    changes: list[BookLevel]


class PointsMoved(ListingEvent, frozen=True, rename={"from_": "from"}):
    """Points went from one agent to another for the reason `cause`, or were given up where `to` is null."""

    seq: int
    cause: str
    from_: str
    to: str | None
    qty: int


class RevenueLevied(ListingEvent, frozen=True):
    """Revenue since the last levy: `taken` was paid of what is `due` and of the arrears before, `arrears` are those after it."""

    day: str
    revenue: str
    due: str
    taken: str
    arrears: str


class RevenueDistributed(ListingEvent, frozen=True):
    """Each point of a listing is owed this many units more."""

    per_point: str


class _OrderEvent(AgentEvent, frozen=True):
    """A fact about an order. Its agent alone reads it."""

    aggregate_type: ClassVar[str] = "order"
    is_always_recorded: ClassVar[bool] = True
    is_private: ClassVar[bool] = True

    order_id: str
    ref: str
    seq: int


class OrderPlaced(_OrderEvent, frozen=True):
    """An order as it came: `seq` is its number. `owner` is the owner of the agent, `replaces` the number of the order that it replaced."""

    owner: str
    side: str
    qty: int
    price: str | None
    time_in_force: str
    post_only: bool
    replaces: int | None


class OrderEnded(_OrderEvent, frozen=True):
    """An order ended, with this quantity not filled: `seq` is the number of the command or trade that ended it, `order_seq` its own."""

    order_seq: int
    remaining: int
    because: str
