"""The SQL that reads the log. Reads take no locks; every one goes by an index, on each partition."""

from collections.abc import Sequence

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.positions import OLDEST_OPEN
from hansa.foundation.plumbing.reactors import StoredEvent

from .store import COLUMNS, stored

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


async def public_events_before(
    tx: Tx, place: Place, private_types: Sequence[str], *, limit: int
) -> list[StoredEvent]:
    """The events of other types than these before a place, the nearest first."""
    statement = _BEFORE.format(of_type="AND event_type <> ALL($5)")
    return stored(await tx.fetch(statement, *place, limit, 0, private_types))


async def _page(
    tx: Tx, statement: str, place: Place, *, event_type: str | None, limit: int, offset: int
) -> list[StoredEvent]:
    if event_type is None:
        return stored(await tx.fetch(statement.format(of_type=""), *place, limit, offset))
    of_type = "AND event_type = $5" if event_type in FREQUENT else f"AND event_type = $5 AND {RARE}"
    return stored(await tx.fetch(statement.format(of_type=of_type), *place, limit, offset, event_type))
