"""The SQL that reads orders and trades; nothing here locks."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from .counting_store import SPANS_SECONDS
from .records import Order, OrderStatus, Trade

_COLUMNS = ", ".join(f"o.{name}" for name in Order.__struct_fields__)
_TRADE = ", ".join(f"t.{name}" for name in Trade.__struct_fields__)

_OWN = f"SELECT {_COLUMNS} FROM exchange_order o WHERE o.id = $1 AND o.agent_did = $2"  # noqa: S608

_WITH_STATUS: Mapping[OrderStatus, str] = {
    "open": "o.ended_at IS NULL AND o.remaining = o.qty",
    "partially_filled": "o.ended_at IS NULL AND o.remaining < o.qty",
    "filled": "o.ended_because = 'filled'",
    "expired": "o.ended_because = 'expired'",
    "cancelled": "o.ended_because NOT IN ('filled', 'expired')",
}
_OWN_PAGE = f"""
SELECT {_COLUMNS} FROM exchange_order o
WHERE o.agent_did = $1 AND ($2::text IS NULL OR o.ref = $2) AND {{status}}
  AND ($3::uuid IS NULL OR (o.created_at, o.id) < (SELECT a.created_at, a.id FROM exchange_order a
    WHERE a.id = $3 AND a.agent_did = $1))
ORDER BY o.created_at DESC, o.id DESC LIMIT $4
"""  # noqa: S608

_TRADES_OF = f"""
SELECT {_TRADE} FROM unnest($1::text[], $2::bigint[]) w (ref, seq)
CROSS JOIN LATERAL (
  SELECT * FROM exchange_trade WHERE ref = w.ref AND taker_seq = w.seq
  UNION ALL SELECT * FROM exchange_trade WHERE ref = w.ref AND maker_seq = w.seq
) t ORDER BY t.ref, t.seq
"""  # noqa: S608

# One row for each level, or one without a level; nothing for a listing that is not public. One statement is one snapshot of all of them.
_DEPTHS = """
SELECT w.ref, w.levels, l.seq, clock_timestamp() AS as_of, b.side, b.price, b.qty, b.orders
FROM unnest($1::text[], $2::int[]) w (ref, levels)
JOIN exchange_listing l ON l.ref = w.ref AND l.status <> ALL ($3::text[])
LEFT JOIN LATERAL (
  (SELECT side, price, sum(remaining)::bigint AS qty, count(*) AS orders FROM exchange_order
   WHERE ref = w.ref AND side = 'buy' AND ended_at IS NULL GROUP BY side, price ORDER BY price DESC LIMIT w.levels)
  UNION ALL
  (SELECT side, price, sum(remaining)::bigint, count(*) FROM exchange_order
   WHERE ref = w.ref AND side = 'sell' AND ended_at IS NULL GROUP BY side, price ORDER BY price LIMIT w.levels)
) b ON true
"""

_TRADES = f"""
SELECT {_TRADE}, buyer_is.related IS TRUE AS is_buyer_insider, seller_is.related IS TRUE AS is_seller_insider
FROM (SELECT * FROM exchange_trade WHERE ref = $1 ORDER BY seq DESC LIMIT $2) t
JOIN exchange_listing l ON l.ref = t.ref
LEFT JOIN LATERAL agents_related(t.buyer, l.treasury_did) buyer_is ON true
LEFT JOIN LATERAL agents_related(t.seller, l.treasury_did) seller_is ON true
ORDER BY t.seq DESC
"""  # noqa: S608

# Candles begin at multiples of their length from a Monday, in UTC. The first of the newest `limit` may begin before `since`. They are
# made of at most fifteen stored ones each ($5 seconds long, $6 of them), and of the trades that have yet to be counted.
_CANDLES = """
WITH part AS (
  (SELECT c.t, 0 AS seq, c.open, c.high, c.low, c.close, c.volume, c.notional, c.trades FROM exchange_candle c
   WHERE c.ref = $1 AND c.span_seconds = $5 AND ($3::timestamptz IS NULL OR c.t >= date_bin($2, $3, '1970-01-05T00:00:00Z'))
   ORDER BY c.t DESC LIMIT $4::bigint * $6)
  UNION ALL
  SELECT t.recorded_at, t.seq, t.price, t.price, t.price, t.price, t.qty, t.price::numeric * t.qty, 1 FROM exchange_trade t
  WHERE t.ref = $1 AND t.seq > coalesce((SELECT seq FROM exchange_trade_counted WHERE ref = $1), 0)
    AND ($3::timestamptz IS NULL OR t.recorded_at >= date_bin($2, $3, '1970-01-05T00:00:00Z'))
)
SELECT * FROM (
  SELECT date_bin($2, p.t, '1970-01-05T00:00:00Z') AS t, (array_agg(p.open ORDER BY p.seq > 0, p.t, p.seq))[1] AS open,
    max(p.high) AS high, min(p.low) AS low, (array_agg(p.close ORDER BY p.seq DESC, p.t DESC))[1] AS close,
    sum(p.volume)::bigint AS volume, sum(p.notional) AS notional, sum(p.trades)::bigint AS trades,
    date_bin($2, p.t, '1970-01-05T00:00:00Z') + $2 <= clock_timestamp() AS is_closed
  FROM part p GROUP BY 1 ORDER BY 1 DESC LIMIT $4
) c ORDER BY c.t
"""

_HOLDERS = """
SELECT h.agent_did, h.qty, r.related IS TRUE AS is_insider FROM (
  SELECT * FROM exchange_holding WHERE ref = $1 AND qty > 0 ORDER BY qty DESC, agent_did LIMIT $2 OFFSET $3
) h
JOIN exchange_listing l ON l.ref = h.ref
LEFT JOIN LATERAL agents_related(h.agent_did, l.treasury_did) r ON true
ORDER BY h.qty DESC, h.agent_did
"""
_COUNT_HOLDERS = "SELECT count(*) FROM exchange_holding WHERE ref = $1 AND qty > 0"

# The price at the end of each of the last `$2` hours, from then until now; before its first trade a listing has the price of its launch.
_HOURLY = """
SELECT l.ref, array_agg(coalesce(t.price, l.price) ORDER BY hour DESC) AS prices
FROM exchange_listing l CROSS JOIN generate_series(0, $2::int) hour
LEFT JOIN LATERAL (
  SELECT price FROM exchange_trade WHERE ref = l.ref AND recorded_at <= now() - make_interval(hours => hour)
  ORDER BY recorded_at DESC, seq DESC LIMIT 1
) t ON true
WHERE l.ref = ANY ($1) AND l.last_price IS NOT NULL GROUP BY l.ref
"""

_RESTING = f"""
SELECT {_COLUMNS} FROM exchange_order o
WHERE o.agent_did = $1 AND ($2::text IS NULL OR o.ref = $2) AND o.ended_at IS NULL ORDER BY o.created_at DESC, o.id DESC LIMIT $3
"""  # noqa: S608

_PORTFOLIO = """
SELECT h.ref, h.qty, h.locked, h.cost, l.last_price, exchange_owed(h.owed, h.qty, h.settled, r.per_point) AS owed
FROM exchange_holding h JOIN exchange_listing l ON l.ref = h.ref JOIN exchange_revenue r ON r.ref = h.ref
WHERE h.agent_did = $1 AND (h.qty > 0 OR h.owed > 0) ORDER BY h.ref
"""
_ESCROW = """
SELECT coalesce(sum(held), 0)::bigint FROM (
  SELECT remaining::numeric * price AS held FROM exchange_order
  WHERE agent_did = $1 AND ended_at IS NULL AND side = 'buy'
  UNION ALL SELECT s.qty::numeric * l.price FROM exchange_subscription s JOIN exchange_listing l ON l.ref = s.ref
  WHERE s.agent_did = $1 AND s.settled_at IS NULL
) holds
"""


class Level(msgspec.Struct, frozen=True):
    """Price of a book with the points and the orders at it."""

    price: Minor
    qty: int
    orders: int


class Depth(msgspec.Struct, frozen=True):
    """The best levels of a book, the best price first, with the number and the time of the reading."""

    bids: list[Level]
    asks: list[Level]
    seq: int
    as_of: datetime


class PublicTrade(msgspec.Struct, frozen=True):
    """A trade, and which of its parties are related to the organization."""

    trade: Trade
    is_buyer_insider: bool
    is_seller_insider: bool


class Candle(msgspec.Struct, frozen=True):
    """The trades of one span of time."""

    t: datetime
    open: Minor
    high: Minor
    low: Minor
    close: Minor
    volume: int
    notional: int
    trades: int
    is_closed: bool


class Holder(msgspec.Struct, frozen=True):
    """An agent with points, and whether it is related to the organization."""

    agent_did: str
    qty: int
    is_insider: bool


class Held(msgspec.Struct, frozen=True):
    """Points of an agent at one listing, and the units that it is owed of the revenue."""

    ref: str
    qty: int
    locked: int
    cost: Minor
    last_price: Minor
    owed: Minor


async def own(tx: Tx, agent_did: str, order_id: UUID) -> Order | None:
    """One order of an agent."""
    row = await tx.fetchrow(_OWN, order_id, agent_did)
    return None if row is None else Order(**row)


async def own_page(
    tx: Tx,
    agent_did: str,
    *,
    ref: str | None,
    status: OrderStatus | None,
    after: UUID | None,
    limit: int,
) -> list[Order]:
    """Orders of an agent, newest first, those after this one."""
    query = _OWN_PAGE.format(status="true" if status is None else _WITH_STATUS[status])
    return [Order(**row) for row in await tx.fetch(query, agent_did, ref, after, limit)]


async def trades_of(tx: Tx, orders: Sequence[Order]) -> list[Trade]:
    """The trades of these orders, oldest first."""
    if not orders:
        return []
    refs, seqs = [order.ref for order in orders], [order.seq for order in orders]
    return [Trade(**row) for row in await tx.fetch(_TRADES_OF, refs, seqs)]


async def depths(
    tx: Tx, asked: Sequence[tuple[str, int]], hidden: Sequence[str]
) -> dict[tuple[str, int], Depth]:
    """So many of the best levels of both sides of these listings, in one snapshot; listings in a hidden status are absent."""
    refs, levels = [ref for ref, _ in asked], [count for _, count in asked]
    found: dict[tuple[str, int], Depth] = {}
    for row in await tx.fetch(_DEPTHS, refs, levels, list(hidden)):
        depth = found.setdefault((row["ref"], row["levels"]), Depth([], [], row["seq"], row["as_of"]))
        if row["side"] is not None:
            side = depth.bids if row["side"] == "buy" else depth.asks
            side.append(Level(row["price"], row["qty"], row["orders"]))
    for depth in found.values():
        depth.bids.sort(key=lambda level: -level.price)
        depth.asks.sort(key=lambda level: level.price)
    return found


async def newest_trades(tx: Tx, ref: str, most: int) -> list[PublicTrade]:
    """The newest trades of a listing, the newest first."""
    found = []
    for row in await tx.fetch(_TRADES, ref, most):
        members = dict(row)
        insiders = (members.pop("is_buyer_insider"), members.pop("is_seller_insider"))
        found.append(PublicTrade(Trade(**members), *insiders))
    return found


async def candles(tx: Tx, ref: str, span: timedelta, since: datetime | None, most: int) -> list[Candle]:
    """The newest candles of a listing, the oldest of them first."""
    seconds = int(span.total_seconds())
    stored = max(one for one in SPANS_SECONDS if seconds % one == 0)
    rows = await tx.fetch(_CANDLES, ref, span, since, most, stored, seconds // stored)
    return [Candle(**{**row, "notional": int(row["notional"])}) for row in rows]


async def holders(tx: Tx, ref: str, limit: int, offset: int) -> tuple[list[Holder], int]:
    """Agents with points of a listing, those with the most first, and how many there are."""
    rows = await tx.fetch(_HOLDERS, ref, limit, offset)
    total: int = await tx.fetchval(_COUNT_HOLDERS, ref)
    return [Holder(**row) for row in rows], total


async def hourly_prices(tx: Tx, refs: Sequence[str], hours: int) -> dict[str, list[Minor]]:
    """The price of each listing that has one, hour by hour until now: `hours` + 1 of them."""
    return {row["ref"]: row["prices"] for row in await tx.fetch(_HOURLY, list(refs), hours)}


async def resting(tx: Tx, agent_did: str, ref: str | None, most: int) -> list[Order]:
    """The newest open orders of an agent, of one listing or of all."""
    return [Order(**row) for row in await tx.fetch(_RESTING, agent_did, ref, most)]


async def holdings_of(tx: Tx, agent_did: str) -> list[Held]:
    """The points of an agent, by listing."""
    return [Held(**row) for row in await tx.fetch(_PORTFOLIO, agent_did)]


async def escrow_of(tx: Tx, agent_did: str) -> Minor:
    """The units that the open buys and the subscriptions of an agent hold."""
    return Minor(await tx.fetchval(_ESCROW, agent_did))
