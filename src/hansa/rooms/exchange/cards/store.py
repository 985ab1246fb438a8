"""The SQL of stock cards. Whoever makes one has taken its lock."""

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx

from .records import Close, Listed, StockCard, VenueCard

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('exchange: stock card', 0))"

_NEWEST = "SELECT day, document, digest, made_at FROM exchange_stock_card"

_LAST_DAY = "(clock_timestamp() AT TIME ZONE 'UTC')::date - 1"

_IS_CLOSED = f"SELECT EXISTS (SELECT FROM exchange_stock_card WHERE day = {_LAST_DAY})"  # noqa: S608

# A trade locks its listing until it is committed.
_LOCK_LAUNCHED = """
SELECT l.ref FROM exchange_listing l WHERE l.sold > 0 AND (l.ended_at IS NULL OR l.ended_at > now() - interval '2 days')
ORDER BY l.ref FOR SHARE
"""

_OF_DAY = "l.status NOT IN ('DRAFT', 'REVIEW') AND (l.ended_at IS NULL OR l.ended_at >= $1::date AT TIME ZONE 'UTC')"

_LISTED = f"""
SELECT l.ref, l.treasury_did, l.status, l.total, l.sold, l.price, l.revenue_bps, l.term_months, l.fee_bps, l.ends_at, l.digest
FROM exchange_listing l WHERE {_OF_DAY} ORDER BY l.ref
"""  # noqa: S608

_CLOSES = f"""
SELECT l.ref, coalesce(c.close, l.price) AS close, coalesce(d.volume, 0) AS volume, coalesce(d.notional, 0) AS notional,
  coalesce(d.trades, 0) AS trades
FROM exchange_listing l
LEFT JOIN LATERAL (
  SELECT close FROM exchange_candle WHERE ref = l.ref AND span_seconds = 86400 AND t <= $1::date AT TIME ZONE 'UTC'
  ORDER BY t DESC LIMIT 1
) c ON true
LEFT JOIN exchange_candle d ON d.ref = l.ref AND d.span_seconds = 86400 AND d.t = $1::date AT TIME ZONE 'UTC'
WHERE {_OF_DAY} AND l.sold > 0 AND l.launched_at < ($1::date + 1) AT TIME ZONE 'UTC' ORDER BY l.ref
"""  # noqa: S608

_WRITE = """
INSERT INTO exchange_stock_card AS s (day, document, digest, made_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (is_only) DO UPDATE SET day = excluded.day, document = excluded.document, digest = excluded.digest,
  made_at = excluded.made_at
"""

_KEEP = """
INSERT INTO exchange_venue AS v (ledger_id, document, digest) VALUES ($1, $2::json, $3)
ON CONFLICT (ledger_id) DO UPDATE SET document = excluded.document, digest = excluded.digest, read_at = excluded.read_at
"""

_FORGET = "DELETE FROM exchange_venue WHERE ledger_id <> ALL ($1)"


async def newest(tx: Tx) -> StockCard | None:
    """The stock card, or None before the first."""
    row = await tx.fetchrow(_NEWEST)
    return None if row is None else StockCard(**row)


async def lock_newest(tx: Tx) -> StockCard | None:
    """The stock card, once nobody else makes one."""
    await tx.execute(_LOCK)
    return await newest(tx)


async def last_whole_day(tx: Tx) -> date:
    """Yesterday in UTC."""
    day: date = await tx.fetchval(f"SELECT {_LAST_DAY}")
    return day


async def is_closed(tx: Tx) -> bool:
    """Return whether the stock card is of the last whole day."""
    return bool(await tx.fetchval(_IS_CLOSED))


async def lock_launched(tx: Tx) -> list[str]:
    """The listings that trade, or did two days ago, once no trade of them is under way."""
    return [row["ref"] for row in await tx.fetch(_LOCK_LAUNCHED)]


async def listed(tx: Tx, day: date) -> list[Listed]:
    """The public listings that had not ended before this day."""
    return [Listed(**row) for row in await tx.fetch(_LISTED, day)]


async def closes(tx: Tx, day: date) -> list[Close]:
    """The closes of this day, whose trades are counted."""
    return [Close(**{**row, "notional": int(row["notional"])}) for row in await tx.fetch(_CLOSES, day)]


async def write(tx: Tx, made: StockCard) -> None:
    """Replace the stock card."""
    await tx.execute(_WRITE, made.day, made.document, made.digest, made.made_at)


async def venues(tx: Tx) -> list[VenueCard]:
    """The stock cards of peers."""
    rows = await tx.fetch(
        "SELECT ledger_id, document, digest, read_at FROM exchange_venue ORDER BY ledger_id"
    )
    return [VenueCard(**{**row, "document": json.loads(row["document"])}) for row in rows]


async def keep_venue(tx: Tx, ledger_id: str, document: dict[str, Any], digest: bytes) -> None:
    """Keep the stock card of a peer."""
    await tx.execute(_KEEP, ledger_id, json.dumps(document), digest)


async def forget_other_venues(tx: Tx, ledger_ids: Sequence[str]) -> None:
    """Delete the stock cards of all but these peers."""
    await tx.execute(_FORGET, list(ledger_ids))
