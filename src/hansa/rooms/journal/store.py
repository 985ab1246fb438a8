"""Every SQL statement of the journal. Inserts and reads only: the database refuses anything else."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.words.money import UNIT


@dataclass(frozen=True)
class NewEvent:
    """An event about to be written; `data` is JSON text."""

    event_type: str
    aggregate_id: str
    aggregate_type: str
    data: str
    source_service: str
    idempotency_key: str | None


@dataclass(frozen=True)
class StoredEvent:
    """An event as it stands in the journal."""

    sequence: int
    id: UUID
    event_type: str
    aggregate_id: str
    aggregate_type: str
    data: dict[str, Any]
    metadata: dict[str, Any]
    timestamp: datetime
    version: int
    source_service: str
    idempotency_key: str | None


_INSERT = """
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service, idempotency_key)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[], $5::text[], $6::text[])
"""

_RECENT = """
SELECT seq AS sequence, id, event_type, aggregate_id, aggregate_type, data, metadata, recorded_at AS timestamp,
  version, source_service, idempotency_key
FROM journal_event ORDER BY seq DESC LIMIT $1
"""

_COUNT_RECENT = "SELECT count(*) FROM (SELECT 1 FROM journal_event ORDER BY seq DESC LIMIT $1) ring"

# Amounts in events are decimal strings; NUMERIC holds them exactly.
_FOLD = """
WITH ledger AS (
  SELECT data ->> 'tx_type' AS tx_type, (data ->> 'fee')::numeric AS fee,
    (SELECT sum((e ->> 'delta')::numeric) FROM jsonb_array_elements(data -> 'entries') e) AS net
  FROM journal_event WHERE event_type = 'LedgerBalanceChanged'
)
SELECT
  coalesce(sum(net) FILTER (WHERE tx_type = 'issue'), 0) * $1 AS issued,
  coalesce(-sum(net) FILTER (WHERE tx_type = 'destroy'), 0) * $1 AS destroyed,
  coalesce(sum(fee), 0) * $1 AS fees_collected,
  coalesce(sum(net), 0) * $1 AS circulating,
  count(*) FILTER (WHERE net <> 0 AND tx_type NOT IN ('issue', 'destroy')) AS unbalanced,
  (SELECT coalesce(max(seq), 0) FROM journal_event) AS as_of_seq
FROM ledger
"""


async def insert_events(tx: Tx, events: Sequence[NewEvent]) -> None:
    """Append the events in order, in one statement."""
    await tx.execute(
        _INSERT,
        [event.event_type for event in events],
        [event.aggregate_id for event in events],
        [event.aggregate_type for event in events],
        [event.data for event in events],
        [event.source_service for event in events],
        [event.idempotency_key for event in events],
    )


async def recent(tx: Tx, limit: int) -> list[StoredEvent]:
    """The newest `limit` events, newest first."""
    rows = await tx.fetch(_RECENT, limit)
    return [
        StoredEvent(**{**row, "data": json.loads(row["data"]), "metadata": json.loads(row["metadata"])})
        for row in rows
    ]


async def count_recent(tx: Tx, ring: int) -> int:
    """How many events the ring of the newest `ring` holds."""
    count: int = await tx.fetchval(_COUNT_RECENT, ring)
    return count


async def fold_supply(tx: Tx) -> asyncpg.Record:
    """Supply terms over the whole log, in minor units."""
    row = await tx.fetchrow(_FOLD, UNIT)
    assert row is not None
    return row
