"""The SQL that reads the log. Reads take no locks; every one goes by an index, on each partition."""

from collections.abc import Sequence

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.positions import OLDEST_OPEN

from .store import COLUMNS, StoredEvent, stored

# The words of the partial indexes: the types that a transfer writes are in none of them.
RARE = "event_type NOT IN ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected')"
FREQUENT = frozenset({"LedgerBalanceChanged", "TokensTransferred", "TransactionFeeCollected"})

_AFTER = f"""
SELECT {COLUMNS} FROM journal_event
WHERE (xid, seq) > ($1, $2) AND xid < (SELECT {OLDEST_OPEN}) {{of_type}}
ORDER BY xid, seq LIMIT $3 OFFSET $4
"""  # noqa: S608

_BEFORE = f"""
SELECT {COLUMNS} FROM journal_event WHERE (xid, seq) < ($1, $2) {{of_type}}
ORDER BY xid DESC, seq DESC LIMIT $3 OFFSET $4
"""  # noqa: S608

_FILED = f"""
SELECT {COLUMNS} FROM journal_event
WHERE aggregate_id = $1 AND (xid, seq) > ($2, $3) AND xid < (SELECT {OLDEST_OPEN}) AND {RARE}
ORDER BY xid, seq LIMIT $4
"""  # noqa: S608

# What a transfer tells beside its movement stands right behind it in the same transaction.
_OF_KEYS = f"""
WITH moved AS (
  SELECT k.position, e.xid AS moved_xid, e.seq AS moved_seq, e.recorded_at AS moved_at, e.data ->> 'tx_id' AS tx_id
  FROM unnest($1::bigint[], $2::text[]) AS k (position, key) JOIN journal_event e ON e.idempotency_key = k.key
)
SELECT m.position, f.* FROM moved m CROSS JOIN LATERAL (
  SELECT {COLUMNS} FROM journal_event
  WHERE xid = m.moved_xid AND seq >= m.moved_seq AND recorded_at = m.moved_at ORDER BY xid, seq LIMIT 3
) f
WHERE f.sequence > $3 AND f.data ->> 'tx_id' = m.tx_id AND (f.sequence = m.moved_seq
  OR f.aggregate_id = $4 AND f.event_type IN ('TokensTransferred', 'TransactionFeeCollected'))
ORDER BY f.sequence LIMIT $5
"""  # noqa: S608

Place = tuple[int, int]


async def events_after(
    tx: Tx, place: Place, *, event_type: str | None, limit: int, offset: int
) -> list[StoredEvent]:
    """The next events in order, up to the oldest open transaction."""
    return await _page(tx, _AFTER, place, event_type=event_type, limit=limit, offset=offset)


async def events_before(
    tx: Tx, place: Place, *, event_type: str | None, limit: int, offset: int
) -> list[StoredEvent]:
    """The events before a place, the nearest first."""
    return await _page(tx, _BEFORE, place, event_type=event_type, limit=limit, offset=offset)


async def _page(
    tx: Tx, statement: str, place: Place, *, event_type: str | None, limit: int, offset: int
) -> list[StoredEvent]:
    if event_type is None:
        return stored(await tx.fetch(statement.format(of_type=""), *place, limit, offset))
    of_type = "AND event_type = $5" if event_type in FREQUENT else f"AND event_type = $5 AND {RARE}"
    return stored(await tx.fetch(statement.format(of_type=of_type), *place, limit, offset, event_type))


async def events_filed_under(tx: Tx, aggregate_id: str, place: Place, limit: int) -> list[StoredEvent]:
    """The next events about an aggregate, those of transfers left out."""
    return stored(await tx.fetch(_FILED, aggregate_id, *place, limit))


async def events_of_keys(
    tx: Tx, did: str, keys: Sequence[tuple[int, str]], *, after_seq: int, limit: int
) -> list[tuple[int, StoredEvent]]:
    """The movements with these keys, and what the transfer behind each tells about `did`; each with its position."""
    positions, names = [position for position, _ in keys], [key for _, key in keys]
    rows = await tx.fetch(_OF_KEYS, positions, names, after_seq, did, limit)
    events = stored([{name: value for name, value in row.items() if name != "position"} for row in rows])
    return [(row["position"], event) for row, event in zip(rows, events, strict=True)]
