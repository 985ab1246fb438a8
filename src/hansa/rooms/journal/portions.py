"""Settled events in portions, for a room that adds them up behind a place of its own: each event once, in the commit of the place.

The place is a transaction (`before_xid`): everything before it was added. The room locks its row, reads the portion up to the
next place, and moves the row in the same transaction.
"""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx

from . import counting_store
from .expansion import own_events_of
from .reading_store import RARE
from .store import COLUMNS, stored

# A transfer or capture is one row without `data`, or, before decision 0042, a row whose second entry is the payee's.
_PAYMENTS = """
WITH moved AS MATERIALIZED (
  SELECT date_trunc('minute', e.recorded_at, 'UTC') AS minute, e.aggregate_id AS payer,
    coalesce(e.payee, e.data -> 'entries' -> 1 ->> 'account') AS payee,
    coalesce(e.amount, (e.data -> 'entries' -> 1 ->> 'delta')::numeric * 100000000) AS amount,
    coalesce(e.fee, (e.data ->> 'fee')::numeric * 100000000) AS fee
  FROM journal_event e
  WHERE e.xid >= $1 AND e.xid < $2 AND e.event_type = 'LedgerBalanceChanged'
    AND coalesce(e.tx_type, e.data ->> 'tx_type') IN ('transfer', 'capture')
)
SELECT account, minute, sum(received) AS received, sum(paid) AS paid, sum(fee) AS fee FROM (
  SELECT payer AS account, minute, 0 AS received, amount AS paid, fee FROM moved
  UNION ALL SELECT payee, minute, amount, 0, 0 FROM moved
) side GROUP BY account, minute
"""

# Entries of every other movement stand in `data`, as do those of transfers from before decision 0042.
_CREDITS = """
SELECT e.xid, e.aggregate_id AS payer, e.payee, e.amount::numeric AS amount FROM journal_event e
WHERE e.xid >= $1 AND e.xid < $2 AND e.event_type = 'LedgerBalanceChanged' AND e.data IS NULL
  AND e.tx_type = ANY ($3) AND e.payee = ANY ($4)
UNION ALL
SELECT e.xid, e.aggregate_id, entry ->> 'account', (entry ->> 'delta')::numeric * 100000000
FROM journal_event e CROSS JOIN LATERAL jsonb_array_elements(e.data -> 'entries') entry
WHERE e.xid >= $1 AND e.xid < $2 AND e.event_type = 'LedgerBalanceChanged' AND e.data ->> 'tx_type' = ANY ($3)
  AND entry ->> 'account' = ANY ($4) AND entry ->> 'account' <> e.aggregate_id AND (entry ->> 'delta')::numeric > 0
"""

_ROWS_OF_TYPES = f"""
SELECT e.* FROM journal_event e
WHERE e.event_type = asked.kind AND e.{RARE} AND e.xid >= $1 AND e.xid < $2 ORDER BY e.xid, e.seq
"""  # noqa: S608

_OF_TYPES = f"""
SELECT event.* FROM unnest($3::text[]) AS asked (kind) CROSS JOIN LATERAL (
  SELECT {COLUMNS} FROM {own_events_of(_ROWS_OF_TYPES)}
) event ORDER BY event.xid, event.sequence
"""  # noqa: S608

_FIRST_FROM = "SELECT recorded_at FROM journal_event WHERE xid >= $1 ORDER BY xid, seq LIMIT 1"


class Paid(msgspec.Struct, frozen=True):
    """Units that an account received and paid by transfers and captures in a minute, and the fees it paid; minor units."""

    account: str
    minute: datetime
    received: int
    paid: int
    fee: int


def has_settled_since(places: str) -> Question:
    """Return the question whether events have become settled since the place in the only row of a relation."""
    return Question(counting_store.settled_since(places))


class Credit(msgspec.Struct, frozen=True):
    """Units that an account received by one transaction, at its place; minor units."""

    position: int
    payer: str
    payee: str
    amount: int


async def end_of_portion(tx: Tx, before_xid: int, at_most: int) -> int:
    """The next place: about `at_most` settled events further, or the same where there are none."""
    return await counting_store.horizon(tx, before_xid, at_most)


async def payments_between(tx: Tx, after: int, before: int) -> list[Paid]:
    """Payments of the transactions from one place up to the other, by account and minute."""
    rows = await tx.fetch(_PAYMENTS, after, before)
    return [
        Paid(row["account"], row["minute"], _whole(row["received"]), _whole(row["paid"]), _whole(row["fee"]))
        for row in rows
    ]


async def credits_between(
    tx: Tx, tx_types: Sequence[str], accounts: Sequence[str], after: int, before: int
) -> list[Credit]:
    """Credits of these accounts by transactions of these types, from one place up to the other."""
    rows = await tx.fetch(_CREDITS, after, before, list(tx_types), list(accounts))
    return [Credit(row["xid"], row["payer"], row["payee"], _whole(row["amount"])) for row in rows]


async def events_between(tx: Tx, types: Sequence[str], after: int, before: int) -> list[StoredEvent]:
    """The events of rare types from one place up to the other, in the order of the journal."""
    return stored(await tx.fetch(_OF_TYPES, after, before, types))


async def first_recorded_from(tx: Tx, place: int) -> datetime | None:
    """Time of the first event that is not added yet."""
    recorded_at: datetime | None = await tx.fetchval(_FIRST_FROM, place)
    return recorded_at


def _whole(amount: Decimal) -> int:
    minor = int(amount)
    assert minor == amount
    return minor
