"""The SQL of orders, trades and the holdings that they change. The row of the listing is locked before any other of its rows."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms.exchange.matching import Ended, Side

from .records import OWNER_KIND, Holding, Order, Trade

_COLUMNS = ", ".join(f"o.{name}" for name in Order.__struct_fields__)
_TRADE = ", ".join(f"t.{name}" for name in Trade.__struct_fields__)

_DRAWN = "SELECT seq FROM exchange_listing WHERE ref = $1"

_MOVE_ON = """
UPDATE exchange_listing SET seq = $3, last_price = coalesce($4, last_price) WHERE ref = $1 AND seq = $2
"""

# The first orders of this side in the order in which they trade: so many that their sum covers the quantity. Each has a point at least.
_REACHED = """
SELECT {columns} FROM (
  SELECT *, sum(remaining) OVER (ORDER BY {price}, seq) - remaining AS before FROM (
    SELECT * FROM exchange_order
    WHERE ref = $1 AND side = $2 AND ended_at IS NULL AND ($3::bigint IS NULL OR price {within} $3)
    ORDER BY {price}, seq LIMIT $4
  ) first
) o WHERE o.before < $4::bigint ORDER BY o.seq
"""
_REACHED_OF: Mapping[Side, str] = {
    "sell": _REACHED.format(columns=_COLUMNS, price="price", within="<="),
    "buy": _REACHED.format(columns=_COLUMNS, price="price DESC", within=">="),
}

_FIND_EACH = f"SELECT {_COLUMNS} FROM exchange_order o WHERE o.id = ANY ($1)"  # noqa: S608
_FIND_BY_CLIENT = f"""
SELECT {_COLUMNS} FROM unnest($1::text[], $2::text[]) w (agent_did, client_order_id)
JOIN exchange_order o ON o.agent_did = w.agent_did AND o.client_order_id = w.client_order_id
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
_COUNT_OPEN = """
SELECT w.agent_did, o.orders FROM unnest($1::text[]) w (agent_did) CROSS JOIN LATERAL (
  SELECT count(*) AS orders FROM exchange_order o WHERE o.agent_did = w.agent_did AND o.ref = $2 AND o.ended_at IS NULL
) o
"""
_REFS_OF_OPEN = (
    "SELECT DISTINCT ref FROM exchange_order WHERE agent_did = $1 AND ended_at IS NULL ORDER BY ref"
)
_COUNTS_OF_OPEN = """
SELECT agent_did, count(*) AS orders FROM exchange_order WHERE agent_did = ANY ($1) AND ended_at IS NULL GROUP BY agent_did
"""

_INSERT = f"""
INSERT INTO exchange_order AS o (ref, seq, id, agent_did, owner, side, qty, price, time_in_force, post_only, remaining, hold_id,
  client_order_id, digest, expires_at, is_counted, capability_id, grant_id, ended_because, ended_at)
SELECT $1, w.seq, w.id, w.agent_did, w.owner, w.side, w.qty, w.price, w.time_in_force, w.post_only, w.remaining, w.hold_id,
  w.client_order_id, w.digest, now() + make_interval(secs => w.ttl_seconds), w.is_counted, w.capability_id, w.grant_id,
  w.ended_because, CASE WHEN w.ended_because IS NOT NULL THEN clock_timestamp() END
FROM unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::boolean[],
  $11::bigint[], $12::bigint[], $13::text[], $14::bytea[], $15::boolean[], $16::uuid[], $17::uuid[], $18::text[], $19::int[])
  w (seq, id, agent_did, owner, side, qty, price, time_in_force, post_only, remaining, hold_id, client_order_id, digest,
    is_counted, capability_id, grant_id, ended_because, ttl_seconds)
ON CONFLICT (agent_did, client_order_id) DO NOTHING RETURNING {_COLUMNS}
"""  # noqa: S608
_INSERTED = (
    "seq",
    "id",
    "agent_did",
    "owner",
    "side",
    "qty",
    "price",
    "time_in_force",
    "post_only",
    "remaining",
    "hold_id",
    "client_order_id",
    "digest",
    "is_counted",
    "capability_id",
    "grant_id",
    "ended_because",
)

# Open orders are named by `ended_because` here: by `ended_at` the planner, before it has statistics, reads the index of the whole book.
_FILL = """
UPDATE exchange_order o SET remaining = o.remaining - filled.qty,
  ended_because = CASE WHEN o.remaining = filled.qty THEN 'filled' END,
  ended_at = CASE WHEN o.remaining = filled.qty THEN clock_timestamp() END
FROM unnest($2::bigint[], $3::bigint[]) filled (seq, qty)
WHERE o.ref = $1 AND o.seq = filled.seq AND o.ended_because IS NULL AND o.remaining >= filled.qty
"""

_END = """
UPDATE exchange_order o SET ended_because = ended.because, ended_at = clock_timestamp()
FROM unnest($2::bigint[], $3::bigint[], $4::text[]) ended (seq, remaining, because)
WHERE o.ref = $1 AND o.seq = ended.seq AND o.remaining = ended.remaining AND o.ended_because IS NULL
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

_HOLD_GAPS = """
SELECT coalesce(o.id::text, h.owner_id) AS gap FROM (
  SELECT id::text AS id, hold_id, remaining * price AS held FROM exchange_order WHERE ended_at IS NULL AND side = 'buy'
) o FULL JOIN ledger_open_holds($1) h ON h.hold_id = o.hold_id AND h.owner_id = o.id AND h.remaining = o.held
WHERE h.hold_id IS NULL OR o.id IS NULL
  AND NOT EXISTS (SELECT FROM exchange_subscription s WHERE s.hold_id = h.hold_id AND s.settled_at IS NULL)
ORDER BY gap LIMIT $2
"""
_LOCK_GAPS = """
SELECT h.ref || ' ' || h.agent_did AS gap FROM exchange_holding h LEFT JOIN (
  SELECT ref, agent_did, sum(remaining) AS offered FROM exchange_order
  WHERE ended_at IS NULL AND side = 'sell' GROUP BY ref, agent_did
) o USING (ref, agent_did) WHERE h.locked <> coalesce(o.offered, 0) ORDER BY gap LIMIT $1
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


async def reached(tx: Tx, ref: str, side: Side, price: int | None, most: int) -> list[Order]:
    """The first open orders of a side, in the order in which they trade, up to a price and to `most` points."""
    return [_as_order(row) for row in await tx.fetch(_REACHED_OF[side], ref, side, price, most)]


async def find_each(tx: Tx, order_ids: Sequence[UUID]) -> dict[UUID, Order]:
    """Orders by their ids."""
    return (
        {row["id"]: _as_order(row) for row in await tx.fetch(_FIND_EACH, list(order_ids))}
        if order_ids
        else {}
    )


async def find_by_client(tx: Tx, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Order]:
    """The orders that agents placed under these names, by the DID and the client_order_id."""
    if not names:
        return {}
    rows = await tx.fetch(_FIND_BY_CLIENT, *(list(column) for column in zip(*names, strict=True)))
    return {(row["agent_did"], row["client_order_id"]): _as_order(row) for row in rows}


async def open_of(tx: Tx, ref: str, did: str) -> list[Order]:
    """The open orders of an agent at a listing, oldest first."""
    return [_as_order(row) for row in await tx.fetch(_OPEN_OF, ref, did)]


async def open_at(tx: Tx, ref: str, most: int) -> list[Order]:
    """The first open orders of a listing."""
    return [_as_order(row) for row in await tx.fetch(_OPEN_AT, ref, most)]


async def due(tx: Tx, ref: str, most: int) -> list[Order]:
    """The first orders of a listing whose time has passed."""
    return [_as_order(row) for row in await tx.fetch(_DUE, ref, most)]


async def count_open(tx: Tx, dids: Sequence[str], ref: str) -> dict[str, int]:
    """How many open orders these agents have at a listing."""
    return {row["agent_did"]: row["orders"] for row in await tx.fetch(_COUNT_OPEN, list(dids), ref)}


async def refs_of_open(tx: Tx, did: str) -> list[str]:
    """The listings at which an agent has open orders."""
    return [row["ref"] for row in await tx.fetch(_REFS_OF_OPEN, did)]


async def counts_of_open(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """How many open orders these agents have; those without are absent."""
    return {row["agent_did"]: row["orders"] for row in await tx.fetch(_COUNTS_OF_OPEN, list(dids))}


async def insert(
    tx: Tx, ref: str, orders: Sequence[Order], ttls_seconds: Sequence[int | None]
) -> dict[int, Order]:
    """Write orders; absent is one whose agent used its client_order_id at another listing meanwhile."""
    columns = ([getattr(order, name) for order in orders] for name in _INSERTED)
    rows = await tx.fetch(_INSERT, ref, *columns, list(ttls_seconds))
    return {row["seq"]: _as_order(row) for row in rows}


async def fill(tx: Tx, ref: str, filled: Mapping[int, int]) -> None:
    """Take these quantities from open orders; one without a rest ends."""
    if filled:
        written = await tx.execute(_FILL, ref, list(filled), list(filled.values()))
        assert written == f"UPDATE {len(filled)}", "the orders of a locked listing are as they were read"


async def end(tx: Tx, ref: str, ended: Sequence[Ended]) -> None:
    """End open orders."""
    if ended:
        columns = ([getattr(event, name) for event in ended] for name in ("order", "remaining", "because"))
        written = await tx.execute(_END, ref, *columns)
        assert written == f"UPDATE {len(ended)}", "the orders of a locked listing are as they were read"


async def hold_gaps(tx: Tx, most: int) -> list[str]:
    """The first open buys and holds that do not agree."""
    return [row["gap"] for row in await tx.fetch(_HOLD_GAPS, OWNER_KIND, most)]


async def lock_gaps(tx: Tx, most: int) -> list[str]:
    """The first holdings whose locked points are not those that their open sells offer."""
    return [row["gap"] for row in await tx.fetch(_LOCK_GAPS, most)]


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
    """The holdings of these agents at a locked listing, opened where they had none, locked in the order of their DIDs."""
    rows = await tx.fetch(_LOCK_HOLDINGS, ref, list(dids))
    if len(rows) < len(dids):
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
