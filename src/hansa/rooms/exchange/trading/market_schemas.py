"""Shapes of the market. Prices and amounts are decimal strings, quantities whole points."""

from datetime import datetime

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.paging import Pagination
from hansa.rooms.exchange.matching import Side

from .market import Portfolio
from .reading_store import Candle, Depth, Held, Holder, Level, PublicTrade


class BookOut(LazyModel):
    """The best levels of both sides: price, points and orders at it."""

    bids: list[list[str | int]] = Field(description="[price, qty, orders], the highest price first.")
    asks: list[list[str | int]] = Field(description="[price, qty, orders], the lowest price first.")
    seq: int = Field(description="Last number of the listing that the book has seen.")
    as_of: datetime

    @classmethod
    def of(cls, depth: Depth) -> "BookOut":
        return cls(bids=_levels(depth.bids), asks=_levels(depth.asks), seq=depth.seq, as_of=depth.as_of)


def _levels(levels: list[Level]) -> list[list[str | int]]:
    return [[format_amount(level.price), level.qty, level.orders] for level in levels]


class TradeOut(LazyModel):
    """A trade. Parties that are related to the organization are marked as insiders."""

    trade_id: str
    seq: int
    price: str
    qty: int
    taker_side: Side
    buyer: str
    seller: str
    buyer_is_insider: bool
    seller_is_insider: bool
    fee: str = Field(description="Part of the amount that the seller paid.")
    tx_id: str
    at: datetime

    @classmethod
    def of(cls, public: PublicTrade) -> "TradeOut":
        trade = public.trade
        return cls(
            trade_id=trade.id,
            seq=trade.seq,
            price=format_amount(trade.price),
            qty=trade.qty,
            taker_side=trade.taker_side,
            buyer=trade.buyer,
            seller=trade.seller,
            buyer_is_insider=public.is_buyer_insider,
            seller_is_insider=public.is_seller_insider,
            fee=format_amount(trade.fee),
            tx_id=f"tx-{trade.tx_id}",
            at=trade.recorded_at,
        )


class TradesOut(LazyModel):
    """The newest trades of a listing, the newest first."""

    trades: list[TradeOut]


class CandleOut(LazyModel):
    """The trades of one span of time, which begins at `t` in UTC."""

    t: datetime
    open: str
    high: str
    low: str
    close: str
    volume: int = Field(description="Points.")
    notional: str = Field(description="Sum of the amounts.")
    trades: int
    closed: bool = Field(description="The span has ended.")

    @classmethod
    def of(cls, candle: Candle) -> "CandleOut":
        return cls(
            t=candle.t,
            open=format_amount(candle.open),
            high=format_amount(candle.high),
            low=format_amount(candle.low),
            close=format_amount(candle.close),
            volume=candle.volume,
            notional=format_amount(candle.notional),
            trades=candle.trades,
            closed=candle.is_closed,
        )


class CandlesOut(LazyModel):
    """Candles, the oldest first; spans without a trade are absent."""

    candles: list[CandleOut]


class HolderOut(LazyModel):
    """An agent with points. `insider`: it is related to the organization."""

    did: str
    qty: int
    insider: bool

    @classmethod
    def of(cls, holder: Holder) -> "HolderOut":
        return cls(did=holder.agent_did, qty=holder.qty, insider=holder.is_insider)


class HoldersOut(LazyModel):
    """Agents with points of a listing, those with the most first."""

    holders: list[HolderOut]
    pagination: Pagination


class HeldPointsOut(LazyModel):
    """Points of an agent at a listing."""

    ref: str
    qty: int
    locked: int = Field(description="Points that open sells offer.")
    cost: str = Field(description="Price that the agent paid for the points that it has.")
    value: str = Field(description="Value of the points at the price of the last trade.")
    owed: str = Field(description="Distributions of the revenue that the agent can claim now.")

    @classmethod
    def of(cls, held: Held) -> "HeldPointsOut":
        return cls(
            ref=held.ref,
            qty=held.qty,
            locked=held.locked,
            cost=format_amount(held.cost),
            value=format_amount(held.qty * held.last_price),
            owed=format_amount(held.owed),
        )


class PortfolioOut(LazyModel):
    """Points of an agent, and the units that its open buys and its subscriptions hold."""

    holdings: list[HeldPointsOut]
    escrow: str

    @classmethod
    def of(cls, portfolio: Portfolio) -> "PortfolioOut":
        return cls(
            holdings=[HeldPointsOut.of(held) for held in portfolio.holdings],
            escrow=format_amount(portfolio.escrow),
        )
