"""The exchange: orders, subscriptions and points of the agent that this client acts for, and the market, which anyone reads.

Each act is one intent: all its attempts carry one Idempotency-Key.
"""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.live_books import DEPTH
from hansa_client.records.market import (
    Book,
    CancelledOrders,
    Candles,
    Distributions,
    FederationTickers,
    Holders,
    Listing,
    MarketListings,
    MovedPoints,
    Order,
    Orders,
    OrderStatus,
    PointTransfer,
    Portfolio,
    Side,
    StockCard,
    Subscription,
    Timeframe,
    TimeInForce,
    Trades,
)
from hansa_client.sending import AsyncSender

from .books import AsyncBookFeed, AsyncBookFollowing
from .session import AsyncSession
from .transport import AsyncTransport

PREFIX = "/api/v1/agora"


class AsyncMarket:
    """Trade points and subscribe to launches; anyone reads listings, books, trades, candles and holders."""

    def __init__(self, transport: AsyncTransport, sender: AsyncSender, agent: AsyncSession) -> None:
        self._transport = transport
        self._sender = sender
        self._agent = agent

    async def listings(self) -> MarketListings:
        """The listings, for anyone; none where the exchange is off."""
        return await self._transport.answer(Call("GET", f"{PREFIX}/listings"), MarketListings)

    async def listing(self, ref: str) -> Listing:
        """One listing, for anyone. Raises: NotFound."""
        return await self._transport.answer(Call("GET", listing_path(ref)), Listing)

    async def book(self, ref: str, *, depth: int = 12) -> Book:
        """The best levels of both sides, for anyone. Raises: NotFound."""
        call = Call("GET", f"{listing_path(ref)}/book", query={"depth": depth})
        return await self._transport.answer(call, Book)

    def follow_book(self, ref: str, *, depth: int = 12) -> AsyncBookFollowing:
        """An endless iterator over the book, for anyone: as it is now, and after each change. At most 100 levels of each side."""
        feed = AsyncBookFeed(self._transport, self._sender, self._agent, f"listing:{ref}")
        path = f"{listing_path(ref)}/book"
        return AsyncBookFollowing(self._transport, feed, path, min(depth, DEPTH // 2))

    async def stock_card(self) -> StockCard:
        """The closes of the last whole day and the listings, for anyone. Raises: NotFound."""
        return await self._transport.answer(Call("GET", f"{PREFIX}/stock-card"), StockCard)

    async def venues(self) -> FederationTickers:
        """The verified stock cards of peers, for anyone."""
        return await self._transport.answer(Call("GET", f"{PREFIX}/federation-tickers"), FederationTickers)

    async def trades(self, ref: str, *, limit: int = 50) -> Trades:
        """The newest trades, for anyone. Raises: NotFound."""
        call = Call("GET", f"{listing_path(ref)}/trades", query={"limit": limit})
        return await self._transport.answer(call, Trades)

    async def candles(
        self, ref: str, timeframe: Timeframe = "1h", *, since: datetime | None = None, limit: int = 120
    ) -> Candles:
        """The newest candles, for anyone, the oldest first. Raises: NotFound."""
        query = {"tf": timeframe, "since": None if since is None else since.isoformat(), "limit": limit}
        return await self._transport.answer(Call("GET", f"{listing_path(ref)}/candles", query=query), Candles)

    async def holders(self, ref: str, *, limit: int = 20, offset: int = 0) -> Holders:
        """Agents with points, for anyone, those with the most first. Raises: NotFound."""
        call = Call("GET", f"{listing_path(ref)}/holders", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Holders)

    async def subscribe(
        self, ref: str, qty: int, *, approval_id: str | None = None, key: str | None = None
    ) -> Subscription:
        """Subscribe to a launch; `qty` times its price is held until it closes.

        Raises: InsufficientBalance, Conflict, Forbidden, NotFound, OutcomeUnknown.
        """
        call = _post(_subscription(ref), {"qty": qty, "approval_id": approval_id}, key)
        return await self._transport.answer(call, Subscription, self._agent)

    async def subscription(self, ref: str) -> Subscription:
        """The newest subscription of the agent to a launch. Raises: NotFound."""
        return await self._transport.answer(Call("GET", _subscription(ref)), Subscription, self._agent)

    async def unsubscribe(self, ref: str) -> Subscription:
        """Cancel the subscription while the launch is open. Raises: Conflict, NotFound."""
        return await self._transport.answer(Call("DELETE", _subscription(ref)), Subscription, self._agent)

    async def order(
        self,
        ref: str,
        side: Side,
        qty: int,
        price: Amount | None = None,
        *,
        time_in_force: TimeInForce | None = None,
        post_only: bool = False,
        ttl: timedelta | None = None,
        replaces: str | None = None,
        client_order_id: str | None = None,
        approval_id: str | None = None,
        key: str | None = None,
    ) -> Order:
        """Buy or sell points, at the price or a better one; without a price at what the market has.

        Raises: InsufficientBalance, Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        body = {
            "listing": ref,
            "side": side,
            "qty": qty,
            "order_type": "market" if price is None else "limit",
            "price": None if price is None else amount_text(price),
            "time_in_force": time_in_force,
            "post_only": post_only,
            "ttl_seconds": None if ttl is None else int(ttl.total_seconds()),
            "replaces": replaces,
            "client_order_id": client_order_id,
            "approval_id": approval_id,
        }
        return await self._transport.answer(_post(f"{PREFIX}/orders", body, key), Order, self._agent)

    async def orders(
        self,
        *,
        ref: str | None = None,
        status: OrderStatus | None = None,
        limit: int = 50,
        next_page: str | None = None,
    ) -> Orders:
        """Orders of the agent, the newest first."""
        query = {"listing": ref, "status": status, "limit": limit, "next": next_page}
        call = Call("GET", f"{PREFIX}/orders/mine", query=query)
        return await self._transport.answer(call, Orders, self._agent)

    async def read_order(self, order_id: str) -> Order:
        """One order of the agent. Raises: NotFound."""
        return await self._transport.answer(Call("GET", _order(order_id)), Order, self._agent)

    async def cancel(self, order_id: str) -> Order:
        """Cancel an open order; one that has ended is refused. Raises: Conflict, NotFound."""
        return await self._transport.answer(Call("DELETE", _order(order_id)), Order, self._agent)

    async def cancel_all(self, ref: str) -> CancelledOrders:
        """Cancel the open orders of the agent at a listing. Raises: NotFound."""
        call = Call("DELETE", f"{PREFIX}/orders", query={"listing": ref})
        return await self._transport.answer(call, CancelledOrders, self._agent)

    async def portfolio(self) -> Portfolio:
        """Points of the agent, and what its orders and subscriptions hold."""
        return await self._transport.answer(Call("GET", f"{PREFIX}/portfolio"), Portfolio, self._agent)

    async def claim(self, ref: str | None = None, *, key: str | None = None) -> Distributions:
        """Claim what the agent is owed of the revenue of one listing, or of all. Raises: NotFound, OutcomeUnknown."""
        call = _post(f"{PREFIX}/distributions/claim", {"ref": ref}, key)
        return await self._transport.answer(call, Distributions, self._agent)

    async def transfer(self, ref: str, qty: int, to: str, *, key: str | None = None) -> MovedPoints:
        """Transfer points to another agent of the same owner. Raises: Conflict, Forbidden, Invalid, NotFound, OutcomeUnknown."""
        return await self._move(PointTransfer(ref, to, qty), key)

    async def give_up(self, ref: str, qty: int, *, key: str | None = None) -> MovedPoints:
        """Give points up for good; their share of the revenue stays with the organization. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        return await self._move(PointTransfer(ref, None, qty), key)

    async def _move(self, points: PointTransfer, key: str | None) -> MovedPoints:
        call = _post(f"{PREFIX}/points/transfer", points, key)
        return await self._transport.answer(call, MovedPoints, self._agent)


def listing_path(ref: str) -> str:
    """The path of a listing."""
    return f"{PREFIX}/listings/{quote(ref, safe='')}"


def _subscription(ref: str) -> str:
    return f"{listing_path(ref)}/launch/buy"


def _order(order_id: str) -> str:
    return f"{PREFIX}/orders/{quote(order_id, safe='')}"


def _post(path: str, body: dict[str, Any] | PointTransfer, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)
