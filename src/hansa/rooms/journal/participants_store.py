"""The SQL of the events in which a DID takes part. Every statement goes by an index, on each partition."""

from collections.abc import Sequence

import asyncpg

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import OLDEST_OPEN

from .expansion import events_of, rows_with_key
from .parties import PARTIES
from .reading_store import RARE, Place
from .store import COLUMNS, stored

# What the ledger records is found by the transaction.
_FILED = f"aggregate_id = $1 AND {RARE} AND source_service <> 'ledger'"

_FILED_AFTER = f"""
SELECT {COLUMNS} FROM journal_event
WHERE {_FILED} AND (xid, seq) > ($2, $3) AND xid < (SELECT {OLDEST_OPEN}) ORDER BY xid, seq LIMIT $4
"""  # noqa: S608

_FILED_BEFORE = f"""
SELECT {COLUMNS} FROM journal_event
WHERE {_FILED} AND (xid, seq) < ($2, $3) ORDER BY xid DESC, seq DESC LIMIT $4
"""  # noqa: S608

_COUNT_FILED = f"SELECT count(*) FROM journal_event WHERE {_FILED}"  # noqa: S608

_NAMED = "$1 IN ({})".format(", ".join(f"f.data ->> '{member}'" for member in PARTIES))

# What a transaction of the ledger records beside its movement stands right behind it in the same database transaction, or
# bears its key: the payment of a token stands behind all movements of its batch.
_ROWS_BEHIND = """
SELECT near.e FROM (
  SELECT e FROM journal_event e WHERE e.xid = m.moved_xid AND e.seq >= m.moved_seq AND e.recorded_at = m.moved_at
  ORDER BY e.xid, e.seq LIMIT 4
) near WHERE (near.e).idempotency_key IS NULL AND (near.e).data IS NOT NULL OR (near.e).seq = m.moved_seq
UNION ALL
SELECT e FROM journal_event e WHERE e.idempotency_key = m.key || '-payment'
"""

_BEHIND = f"""
WITH moved AS (
  SELECT k.position, k.key, (f.e).xid AS moved_xid, (f.e).seq AS moved_seq, (f.e).recorded_at AS moved_at,
    coalesce((f.e).tx_id::text, (f.e).data ->> 'tx_id') AS tx_id
  FROM unnest($2::bigint[], $3::text[]) AS k (position, key) CROSS JOIN LATERAL ({rows_with_key("k.key")}) f
)
SELECT {{selected}} FROM moved m CROSS JOIN LATERAL (
  SELECT {COLUMNS} FROM {events_of(_ROWS_BEHIND)} ORDER BY xid, seq
) f
WHERE f.data ->> 'tx_id' = m.tx_id AND ($1::text IS NULL OR f.sequence = m.moved_seq OR {_NAMED})
"""  # noqa: S608

_OF_KEYS = _BEHIND.format(selected="m.position, f.*")
_NEWER_OF_KEYS = f"{_OF_KEYS} AND f.sequence > $4 ORDER BY f.sequence LIMIT $5"
_OLDER_OF_KEYS = f"{_OF_KEYS} AND f.sequence < $4 ORDER BY f.sequence DESC LIMIT $5"
_OF_TRANSACTIONS = f"{_OF_KEYS} ORDER BY f.sequence"
_COUNT_OF_KEYS = _BEHIND.format(selected="count(*)")

_LEFT_OUT = f"""
SELECT EXISTS (SELECT FROM journal_emission_policy
    WHERE event_type IN (SELECT unnest($1::text[])) AND emit_from_teg IS NOT TRUE)
  OR EXISTS (SELECT FROM journal_event WHERE event_type = 'EventEmissionPolicyUpdated' AND {RARE}
    AND data ->> 'event_type' = ANY($1))
"""  # noqa: S608

_BESIDE_A_MOVEMENT = [
    *(
        "TokensTransferred",
        "TransactionFeeCollected",
        "TokensStaked",
        "TokensUnstaked",
        "RewardsAutoCompounded",
        "RewardsDistributed",
        "A2APaymentSettled",
    ),
]


async def filed_under(tx: Tx, did: str, place: Place, limit: int, *, newest_first: bool) -> list[StoredEvent]:
    """Return the next events that are filed under a DID, without those that the ledger recorded."""
    statement = _FILED_BEFORE if newest_first else _FILED_AFTER
    return stored(await tx.fetch(statement, did, *place, limit))


async def oldest_open(tx: Tx) -> int:
    """The transaction before which nothing can appear any more."""
    xid: int = await tx.fetchval(f"SELECT {OLDEST_OPEN}")
    return xid


async def count_filed(tx: Tx, did: str) -> int:
    """How many of these there are."""
    count: int = await tx.fetchval(_COUNT_FILED, did)
    return count


async def of_keys(
    tx: Tx,
    did: str,
    keys: Sequence[tuple[int, str]],
    *,
    beyond_seq: int,
    limit: int,
    newest_first: bool,
) -> list[tuple[int, StoredEvent]]:
    """Return the movements with these keys, and the events behind each that name `did`; each with its position."""
    positions, names = [position for position, _ in keys], [key for _, key in keys]
    statement = _OLDER_OF_KEYS if newest_first else _NEWER_OF_KEYS
    return _placed(await tx.fetch(statement, did, positions, names, beyond_seq, limit))


async def of_transaction(tx: Tx, key: str) -> list[StoredEvent]:
    """The movement with this key and everything that was recorded for the same transaction, in the order of the log."""
    return [event for _, event in await of_transactions(tx, [(0, key)])]


async def of_transactions(tx: Tx, keys: Sequence[tuple[int, str]]) -> list[tuple[int, StoredEvent]]:
    """The same for several transactions, each event with the position that is given beside the key."""
    return _placed(
        await tx.fetch(_OF_TRANSACTIONS, None, [position for position, _ in keys], [key for _, key in keys])
    )


def _placed(rows: Sequence[asyncpg.Record]) -> list[tuple[int, StoredEvent]]:
    events = stored([{name: value for name, value in row.items() if name != "position"} for row in rows])
    return [(row["position"], event) for row, event in zip(rows, events, strict=True)]


async def count_of_keys(tx: Tx, did: str, keys: Sequence[str]) -> int:
    """How many of these there are."""
    count: int = await tx.fetchval(_COUNT_OF_KEYS, did, [0] * len(keys), list(keys))
    return count


async def records_every_transfer(tx: Tx) -> bool:
    """Return whether no policy ever kept out the events recorded beside a movement."""
    left_out: bool = await tx.fetchval(_LEFT_OUT, _BESIDE_A_MOVEMENT)
    return not left_out
