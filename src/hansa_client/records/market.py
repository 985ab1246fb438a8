"""The exchange: listings of organizations, orders, the market that anyone reads, and points of an agent."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeAlias

from .record import Pagination, Record

Side: TypeAlias = Literal["buy", "sell"]
TimeInForce: TypeAlias = Literal["gtc", "ioc", "fok"]
OrderStatus: TypeAlias = Literal["open", "partially_filled", "filled", "cancelled", "expired"]
Timeframe: TypeAlias = Literal["1m", "5m", "15m", "1h", "4h", "1d", "1w"]
Level: TypeAlias = tuple[Decimal, int, int]
"""Price, points, and the number of orders at it."""


class Prospectus(Record, frozen=True):
    """Document that describes an offer, and its SHA-256."""

    url: str
    sha256: str


class ListingTerms(Record, frozen=True):
    """Terms of an offer: `total` points at one price, which together are a right to `revenue_bps` of the revenue for `term_months`."""

    ref: str
    total: int
    price: Decimal
    min_raise: Decimal
    opens_at: datetime
    closes_at: datetime
    per_owner_max: int
    revenue_bps: int
    term_months: int
    tick: Decimal
    prospectus: Prospectus


class ListingChanges(Record, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Terms of a draft that are to change; those that are None stay as they are."""

    total: int | None = None
    price: Decimal | None = None
    min_raise: Decimal | None = None
    opens_at: datetime | None = None
    closes_at: datetime | None = None
    per_owner_max: int | None = None
    revenue_bps: int | None = None
    term_months: int | None = None
    tick: Decimal | None = None
    prospectus: Prospectus | None = None


class ListingOrganization(Record, frozen=True):
    """The organization that sells points."""

    id: str
    slug: str
    name: str


class Listing(ListingTerms, frozen=True):
    """A listing. A point is no vote and no claim on the treasury, and ends worthless at `ends_at`."""

    organization: ListingOrganization
    treasury_did: str
    status: str
    fee_bps: int | None
    terms_sha256: str | None
    sold: int
    last_price: Decimal | None
    arrears: Decimal
    insider_points: int
    traders_30d: int
    top_pair_share: Decimal | None
    ends_at: datetime | None
    reason: str | None


class MarketListings(Record, frozen=True):
    """The listings of a registry, by reference."""

    listings: list[Listing]


class Book(Record, frozen=True):
    """The best levels of both sides, the best price first; `seq` is the last number of the listing that the book has seen."""

    bids: list[Level]
    asks: list[Level]
    seq: int
    as_of: datetime


class BookLevelChange(Record, frozen=True):
    """Points and orders that came to a level of the book, negative where they left it."""

    side: Side
    price: Decimal
    qty: int
    orders: int


class BookChange(Record, frozen=True):
    """The book from the number `after` to the number `seq`: a change begins where the last one ended."""

    after: int
    seq: int
    changes: list[BookLevelChange]


class Trade(Record, frozen=True):
    """A trade; the seller pays the fee out of the amount."""

    trade_id: str
    seq: int
    price: Decimal
    qty: int
    taker_side: Side
    buyer: str
    seller: str
    buyer_is_insider: bool
    seller_is_insider: bool
    fee: Decimal
    tx_id: str
    at: datetime


class Trades(Record, frozen=True):
    """Trades, the newest first."""

    trades: list[Trade]


class Candle(Record, frozen=True):
    """The trades of one span of time, which begins at `t`."""

    t: datetime
    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal
    volume: int
    notional: Decimal
    trades: int
    closed: bool


class Candles(Record, frozen=True):
    """Candles, the oldest first; spans without a trade are absent."""

    candles: list[Candle]


class Holder(Record, frozen=True):
    """An agent with points. `insider`: it is related to the organization."""

    did: str
    qty: int
    insider: bool


class Holders(Record, frozen=True):
    """Agents with points, those with the most first."""

    holders: list[Holder]
    pagination: Pagination


class Subscription(Record, frozen=True):
    """An own subscription to a launch; `status` is `subscribed`, `allocated`, `cancelled` or `failed`."""

    order_id: str
    status: str
    qty: int
    allocated: int
    escrow_amount: Decimal


class Fill(Record, frozen=True):
    """A trade of an order; `fee` is 0 for the buyer."""

    trade_id: str
    price: Decimal
    qty: int
    fee: Decimal


class Order(Record, frozen=True):
    """An order with its trades; `escrow_amount` is what it holds."""

    order_id: str
    listing: str
    side: Side
    qty: int
    price: Decimal | None
    time_in_force: TimeInForce
    status: OrderStatus
    remaining: int
    escrow_amount: Decimal
    fills: list[Fill]
    client_order_id: str | None
    ended_because: str | None
    seq: int
    expires_at: datetime | None
    created_at: datetime


class Orders(Record, frozen=True):
    """Own orders, the newest first; `next`, where there is one, leads to the page after it."""

    orders: list[Order]
    next: str | None


class CancelledOrders(Record, frozen=True):
    """Number of orders that were cancelled."""

    cancelled: int


class HeldPoints(Record, frozen=True):
    """Points of the agent at a listing; `locked` ones are offered by open sells, `owed` are distributions that it can claim."""

    ref: str
    qty: int
    locked: int
    cost: Decimal
    value: Decimal
    owed: Decimal


class Portfolio(Record, frozen=True):
    """Points of the agent, and the units that its open buys and its subscriptions hold."""

    holdings: list[HeldPoints]
    escrow: Decimal


class Distributions(Record, frozen=True):
    """Units that the agent was paid for its points now."""

    paid: Decimal


class PointTransfer(Record, frozen=True):
    """Points that go to an agent of the same owner, or are given up where `to` is None."""

    ref: str
    to: str | None
    qty: int


class MovedPoints(Record, frozen=True):
    """Points that went to another agent, or were given up where `to` is None; `seq` is the number of the movement at the listing."""

    ref: str
    seq: int
    to: str | None
    qty: int


class StockListing(Record, frozen=True):
    """A listing as a stock card states it."""

    ref: str
    treasury_did: str
    status: str
    total: int
    sold: int
    price: Decimal
    revenue_bps: int
    term_months: int
    fee_bps: int
    ends_at: datetime | None
    terms_sha256: str


class StockClose(Record, frozen=True):
    """The price of a point at the end of a day, and what was traded on it."""

    ref: str
    close: Decimal
    volume: int
    notional: Decimal
    trades: int


class StockRegistry(Record, frozen=True):
    """The registry that lists the points."""

    ledger_id: str
    registry_name: str
    spiffe_id: str


class StockCard(Record, frozen=True):
    """Closes of a day and listings. The registry card signs `digest`."""

    registry: StockRegistry
    currency: str
    date: str
    market_epoch: str
    market_freshness: str
    as_of: datetime
    digest: str
    listings: list[StockListing]
    closes: list[StockClose]


class Venue(Record, frozen=True):
    """The last verified stock card of a peer."""

    registry_name: str
    ledger_id: str
    registry_url: str
    currency: str
    date: str
    market_epoch: str
    market_freshness: str
    as_of: datetime
    digest: str
    listings: list[StockListing]
    closes: list[StockClose]


class FederationTickers(Record, frozen=True):
    """Stock cards of peers."""

    venues: list[Venue]
