"""The SQL of orders, trades and the holdings that they change. The row of the listing is locked before any other of its rows."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms.exchange.matching import Ended, Side

from .records import OWNER_KIND, Holding, NewOrder, Order, Trade

_COLUMNS = ", ".join(f"o.{name}" for name in Order.__struct_fields__)
_TRADE = ", ".join(f"t.{name}" for name in Trade.__struct_fields__)

_DRAWN = "SELECT seq FROM exchange_listing WHERE ref = $1"

_MOVE_ON = """
UPDATE exchange_listing SET seq = $3, last_price = coalesce($4, last_price) WHERE ref = $1 AND seq = $2
"""

# The orders that one of this side and quantity could take, in the order in which they trade: so many that their sum covers it.
_REACHED = """
SELECT {columns} FROM (
  SELECT *, sum(remaining) OVER (ORDER BY {price}, seq) - remaining AS before FROM exchange_order
  WHERE ref = $1 AND side = $2 AND ended_at IS NULL AND ($3::bigint IS NULL OR price {within} $3)
) o WHERE o.before < $4::bigint ORDER BY o.seq
"""
_REACHED_OF: Mapping[Side, str] = {
    "buy": _REACHED.format(columns=_COLUMNS, price="price", within="<="),
    "sell": _REACHED.format(columns=_COLUMNS, price="price DESC", within=">="),
}
_OPPOSITE: Mapping[Side, Side] = {"buy": "sell", "sell": "buy"}

_FIND = f"SELECT {_COLUMNS} FROM exchange_order o WHERE o.id = $1"  # noqa: S608
_FIND_ALL = f"SELECT {_COLUMNS} FROM exchange_order o WHERE o.ref = $1 AND o.seq = ANY ($2)"  # noqa: S608
_FIND_BY_CLIENT = f"""
SELECT {_COLUMNS} FROM exchange_order o WHERE o.agent_did = $1 AND o.client_order_id = $2
"""  # noqa: S608
_OPEN_OF = f"""
SELECT {_COLUMNS} FROM exchange_order o
WHERE o.ref = $1 AND o.agent_did = $2 AND o.ended_at IS NULL ORDER BY o.seq
"""  # noqa: S608
_DUE = f"""
SELECT {_COLUMNS} FROM exchange_order o
WHERE o.ref = $1 AND o.ended_at IS NULL AND o.expires_at <= clock_timestamp() ORDER BY o.expires_at, o.seq LIMIT $2
"""  # noqa: S608
_OPEN_AT = f"""
SELECT {_COLUMNS} FROM exchange_order o WHERE o.ref = $1 AND o.ended_at IS NULL ORDER BY o.seq LIMIT $2
"""  # noqa: S608
_COUNT_OPEN = "SELECT count(*) FROM exchange_order WHERE agent_did = $1 AND ref = $2 AND ended_at IS NULL"
_REFS_OF_OPEN = (
    "SELECT DISTINCT ref FROM exchange_order WHERE agent_did = $1 AND ended_at IS NULL ORDER BY ref"
)
_COUNTS_OF_OPEN = """
SELECT agent_did, count(*) AS orders FROM exchange_order WHERE agent_did = ANY ($1) AND ended_at IS NULL GROUP BY agent_did
"""

_INSERT = f"""
INSERT INTO exchange_order AS o (ref, seq, id, agent_did, owner, side, qty, price, time_in_force, post_only, remaining, hold_id,
  client_order_id, digest, expires_at, is_counted, capability_id, grant_id, ended_because, ended_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now() + make_interval(secs => $15), $16, $17, $18, $19,
  CASE WHEN $19::text IS NOT NULL THEN clock_timestamp() END)
ON CONFLICT (agent_did, client_order_id) DO NOTHING RETURNING {_COLUMNS}
"""  # noqa: S608

_FILL = """
UPDATE exchange_order o SET remaining = o.remaining - filled.qty,
  ended_because = CASE WHEN o.remaining = filled.qty THEN 'filled' END,
  ended_at = CASE WHEN o.remaining = filled.qty THEN clock_timestamp() END
FROM unnest($2::bigint[], $3::bigint[]) filled (seq, qty)
WHERE o.ref = $1 AND o.seq = filled.seq AND o.ended_at IS NULL AND o.remaining >= filled.qty
"""

_END = """
UPDATE exchange_order o SET ended_because = $4, ended_at = clock_timestamp()
WHERE o.ref = $1 AND o.seq = $2 AND o.remaining = $3 AND o.ended_at IS NULL
"""

_INSERT_TRADES = f"""
INSERT INTO exchange_trade AS t (ref, seq, taker_seq, maker_seq, taker_side, price, qty, buyer, seller, fee, tx_id)
SELECT $1, w.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::text[],
  $9::text[], $10::bigint[], $11::bigint[]) w RETURNING {_TRADE}
"""  # noqa: S608

_POST = """
INSERT INTO exchange_point_posting (ref, seq, agent_did, delta, cause)
SELECT $1, w.seq, w.agent_did, w.delta, 'trade' FROM unnest($2::bigint[], $3::text[], $4::bigint[]) w (seq, agent_did, delta)
"""

_GAPS = """
SELECT gap FROM (
  SELECT coalesce(o.id::text, h.owner_id) AS gap FROM (
    SELECT id::text AS id, hold_id, remaining * price AS held FROM exchange_order WHERE ended_at IS NULL AND side = 'buy'
  ) o FULL JOIN ledger_open_holds($1) h ON h.hold_id = o.hold_id AND h.owner_id = o.id AND h.remaining = o.held
  WHERE h.hold_id IS NULL OR o.id IS NULL
    AND NOT EXISTS (SELECT FROM exchange_subscription s WHERE s.hold_id = h.hold_id AND s.settled_at IS NULL)
  UNION ALL
  SELECT h.ref || ' ' || h.agent_did FROM exchange_holding h LEFT JOIN (
    SELECT ref, agent_did, sum(remaining) AS offered FROM exchange_order
    WHERE ended_at IS NULL AND side = 'sell' GROUP BY ref, agent_did
  ) o USING (ref, agent_did) WHERE h.locked <> coalesce(o.offered, 0)
) gaps ORDER BY gap LIMIT $2
"""

_OPEN_HOLDINGS = """
INSERT INTO exchange_holding (ref, agent_did, qty) SELECT $1, did, 0 FROM unnest($2::text[]) did ORDER BY did
ON CONFLICT DO NOTHING
"""
_LOCK_HOLDINGS = """
SELECT agent_did, qty, locked, cost FROM exchange_holding WHERE ref = $1 AND agent_did = ANY ($2)
ORDER BY agent_did FOR NO KEY UPDATE
"""
_WRITE_HOLDINGS = """
UPDATE exchange_holding h SET qty = w.qty, locked = w.locked, cost = w.cost
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) w (agent_did, qty, locked, cost)
WHERE h.ref = $1 AND h.agent_did = w.agent_did
"""


async def drawn(tx: Tx, ref: str) -> int:
    """The last number of a locked listing."""
    seq: int = await tx.fetchval(_DRAWN, ref)
    return seq


async def move_on(tx: Tx, ref: str, before: int, after: int, last_price: Minor | None) -> None:
    """Write the last number of a locked listing, and the price of its last trade if there was one."""
    written = await tx.execute(_MOVE_ON, ref, before, after, last_price)
    assert written == "UPDATE 1", "nobody draws numbers of a locked listing"


async def reached(tx: Tx, new: NewOrder, passed_over: int) -> list[Order]:
    """The open orders that this one could take, in the order of their numbers.

    `passed_over` are the points of the order that it replaces, which it does not take.
    """
    query = _REACHED_OF[new.side]
    # One more point than it takes: an order that is filled in part has met all that there is.
    most = new.qty + passed_over + 1
    rows = await tx.fetch(query, new.ref, _OPPOSITE[new.side], new.price, most)
    return [_as_order(row) for row in rows]


async def find(tx: Tx, order_id: UUID) -> Order | None:
    """One order."""
    row = await tx.fetchrow(_FIND, order_id)
    return None if row is None else _as_order(row)


async def find_by_client(tx: Tx, did: str, client_order_id: str) -> Order | None:
    """The order that an agent placed under this name."""
    row = await tx.fetchrow(_FIND_BY_CLIENT, did, client_order_id)
    return None if row is None else _as_order(row)


async def find_all(tx: Tx, ref: str, seqs: Sequence[int]) -> dict[int, Order]:
    """Orders of a listing by their numbers."""
    return {row["seq"]: _as_order(row) for row in await tx.fetch(_FIND_ALL, ref, list(seqs))}


async def open_of(tx: Tx, ref: str, did: str) -> list[Order]:
    """The open orders of an agent at a listing, oldest first."""
    return [_as_order(row) for row in await tx.fetch(_OPEN_OF, ref, did)]


async def open_at(tx: Tx, ref: str, most: int) -> list[Order]:
    """The first open orders of a listing."""
    return [_as_order(row) for row in await tx.fetch(_OPEN_AT, ref, most)]


async def due(tx: Tx, ref: str, most: int) -> list[Order]:
    """The first orders of a listing whose time has passed."""
    return [_as_order(row) for row in await tx.fetch(_DUE, ref, most)]


async def count_open(tx: Tx, did: str, ref: str) -> int:
    """How many open orders an agent has at a listing."""
    count: int = await tx.fetchval(_COUNT_OPEN, did, ref)
    return count


async def refs_of_open(tx: Tx, did: str) -> list[str]:
    """The listings at which an agent has open orders."""
    return [row["ref"] for row in await tx.fetch(_REFS_OF_OPEN, did)]


async def counts_of_open(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """How many open orders these agents have; those without are absent."""
    return {row["agent_did"]: row["orders"] for row in await tx.fetch(_COUNTS_OF_OPEN, list(dids))}


async def insert(tx: Tx, order: Order, ttl_seconds: int | None) -> Order | None:
    """Write an order; None where its agent used the client_order_id at another listing meanwhile."""
    row = await tx.fetchrow(
        _INSERT,
        order.ref,
        order.seq,
        order.id,
        order.agent_did,
        order.owner,
        order.side,
        order.qty,
        order.price,
        order.time_in_force,
        order.post_only,
        order.remaining,
        order.hold_id,
        order.client_order_id,
        order.digest,
        ttl_seconds,
        order.is_counted,
        order.capability_id,
        order.grant_id,
        order.ended_because,
    )
    return None if row is None else _as_order(row)


async def fill(tx: Tx, ref: str, filled: Mapping[int, int]) -> None:
    """Take these quantities from open orders; one without a rest ends."""
    if filled:
        written = await tx.execute(_FILL, ref, list(filled), list(filled.values()))
        assert written == f"UPDATE {len(filled)}", "the orders of a locked listing are as they were read"


async def end(tx: Tx, ref: str, ended: Ended) -> None:
    """End an open order."""
    written = await tx.execute(_END, ref, ended.order, ended.remaining, ended.because)
    assert written == "UPDATE 1", "the orders of a locked listing are as they were read"


async def gaps(tx: Tx, most: int) -> list[str]:
    """The first open orders and holdings that do not agree with holds and sells."""
    return [row["gap"] for row in await tx.fetch(_GAPS, OWNER_KIND, most)]


async def insert_trades(tx: Tx, ref: str, trades: Sequence[Trade]) -> list[Trade]:
    """Write trades; returned with the time of each."""
    columns = (
        "seq",
        "taker_seq",
        "maker_seq",
        "taker_side",
        "price",
        "qty",
        "buyer",
        "seller",
        "fee",
        "tx_id",
    )
    rows = await tx.fetch(
        _INSERT_TRADES, ref, *([getattr(trade, name) for trade in trades] for name in columns)
    )
    return [Trade(**row) for row in rows]


async def post(tx: Tx, ref: str, trades: Sequence[Trade]) -> None:
    """Write the postings of points of trades."""
    moves = [move for t in trades for move in ((t.seq, t.seller, -t.qty), (t.seq, t.buyer, t.qty))]
    await tx.execute(_POST, ref, *(list(column) for column in zip(*moves, strict=True)))


async def lock_holdings(tx: Tx, ref: str, dids: Sequence[str]) -> dict[str, Holding]:
    """The holdings of these agents at a listing, opened where they had none, locked in the order of their DIDs."""
    await tx.execute(_OPEN_HOLDINGS, ref, list(dids))
    rows = await tx.fetch(_LOCK_HOLDINGS, ref, list(dids))
    return {row["agent_did"]: Holding(row["qty"], row["locked"], row["cost"]) for row in rows}


async def write_holdings(tx: Tx, ref: str, holdings: Mapping[str, Holding]) -> None:
    """Write locked holdings."""
    of = holdings.values()
    written = await tx.execute(
        _WRITE_HOLDINGS,
        ref,
        list(holdings),
        [one.qty for one in of],
        [one.locked for one in of],
        [one.cost for one in of],
    )
    assert written == f"UPDATE {len(holdings)}", "locked holdings are there"


def _as_order(row: asyncpg.Record) -> Order:
    return Order(**row)
