"""The SQL that counts trades. Whoever counts has locked the row of `exchange_trade_counted`."""

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx

SPANS_SECONDS = (60, 3600, 86_400)
"""Candles that are stored; longer ones are made of them."""

_OPEN = """
INSERT INTO exchange_trade_counted (ref) SELECT ref FROM exchange_revenue ON CONFLICT DO NOTHING
"""

# A measurement is repeated a minute after new trades, and once a day where trades leave it.
_WAITING = """
FROM exchange_revenue r LEFT JOIN exchange_trade_counted c ON c.ref = r.ref
WHERE EXISTS (SELECT FROM exchange_trade t WHERE t.ref = r.ref AND t.seq > coalesce(c.seq, 0))
  OR c.active_seq < c.seq AND coalesce(c.active_at, '-infinity') < clock_timestamp() - interval '1 minute'
  OR c.traders > 0 AND (c.active_at AT TIME ZONE 'UTC')::date < (clock_timestamp() AT TIME ZONE 'UTC')::date
"""

HAS_WAITING = Question(f"SELECT EXISTS (SELECT {_WAITING})")
"""Condition that trades have yet to be counted or measured."""

_COUNT = """
WITH new AS MATERIALIZED (
  SELECT t.* FROM exchange_trade t WHERE t.ref = $1 AND t.seq > $2 ORDER BY t.seq LIMIT $3
), candles AS (
  INSERT INTO exchange_candle AS c (ref, span_seconds, t, open, high, low, close, volume, notional, trades)
  SELECT $1, s.span, date_bin(make_interval(secs => s.span), n.recorded_at, '1970-01-05T00:00:00Z') AS t,
    (array_agg(n.price ORDER BY n.seq))[1], max(n.price), min(n.price), (array_agg(n.price ORDER BY n.seq DESC))[1],
    sum(n.qty), sum(n.price::numeric * n.qty), count(*)
  FROM new n CROSS JOIN unnest($4::int[]) s (span) GROUP BY s.span, 3
  ON CONFLICT (ref, span_seconds, t) DO UPDATE SET high = greatest(c.high, excluded.high), low = least(c.low, excluded.low),
    close = excluded.close, volume = c.volume + excluded.volume, notional = c.notional + excluded.notional,
    trades = c.trades + excluded.trades
), pairs AS (
  INSERT INTO exchange_pair_day AS p (ref, day, one, other, qty)
  SELECT $1, (n.recorded_at AT TIME ZONE 'UTC')::date AS day, least(n.buyer COLLATE "C", n.seller COLLATE "C") AS one,
    greatest(n.buyer COLLATE "C", n.seller COLLATE "C") AS other, sum(n.qty)
  FROM new n GROUP BY 2, 3, 4
  ON CONFLICT (ref, day, one, other) DO UPDATE SET qty = p.qty + excluded.qty
), counted AS (
  UPDATE exchange_trade_counted SET seq = (SELECT max(seq) FROM new) WHERE ref = $1 AND EXISTS (SELECT FROM new)
)
SELECT count(*) FROM new
"""

_LOCK = "SELECT seq FROM exchange_trade_counted WHERE ref = $1 FOR UPDATE"

_PERIOD = "p.day > (clock_timestamp() AT TIME ZONE 'UTC')::date - 30"

_MEASURE = f"""
WITH pair AS (
  SELECT p.one, p.other, sum(p.qty) AS qty FROM exchange_pair_day p WHERE p.ref = $1 AND {_PERIOD} GROUP BY p.one, p.other
)
UPDATE exchange_trade_counted SET active_seq = seq, active_at = clock_timestamp(),
  traders = (SELECT count(*) FROM (SELECT one FROM pair UNION SELECT other FROM pair) party),
  top_pair_bps = (SELECT greatest(1, round(max(qty) * 10000 / sum(qty))) FROM pair HAVING count(*) > 0)
WHERE ref = $1 AND (active_at IS NULL OR active_seq < seq AND active_at < clock_timestamp() - interval '1 minute'
  OR (active_at AT TIME ZONE 'UTC')::date < (clock_timestamp() AT TIME ZONE 'UTC')::date)
"""  # noqa: S608

_FORGET = f"DELETE FROM exchange_pair_day p WHERE NOT {_PERIOD}"  # noqa: S608


async def open_listings(tx: Tx) -> None:
    """Let trades of every listing that was launched be counted."""
    await tx.execute(_OPEN)


async def waiting(tx: Tx, most: int) -> list[str]:
    """Listings with trades that have yet to be counted or measured."""
    return [row["ref"] for row in await tx.fetch(f"SELECT r.ref {_WAITING} ORDER BY r.ref LIMIT $1", most)]


async def count(tx: Tx, ref: str, most: int) -> int:
    """Count the next trades of a listing; returns how many."""
    after = await tx.fetchval(_LOCK, ref)
    counted: int = await tx.fetchval(_COUNT, ref, after, most, list(SPANS_SECONDS))
    return counted


async def measure(tx: Tx, ref: str) -> None:
    """Write who trades at a listing, unless that was done a moment ago."""
    await tx.execute(_MEASURE, ref)


async def forget_pairs(tx: Tx) -> None:
    """Delete pairs that are out of every measurement."""
    await tx.execute(_FORGET)
