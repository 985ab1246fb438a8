"""Periods of the journal between two sequence numbers: their events by type, and the ledger transactions in them."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx

from .archive.boundary import boundary
from .errors import SequenceUnknown
from .expansion import SPAN, SPAN_MAX, counts_by_type, own_events_of
from .store import COLUMNS, newest_sequence, stored

_EXISTS = f"""
SELECT EXISTS (
  SELECT FROM journal_event e WHERE e.seq > $1 - {SPAN_MAX} AND e.seq <= $1 AND e.seq + {SPAN} > $1
)
"""  # noqa: S608
_TRANSACTIONS = """
SELECT min(t.tx_id) AS first, max(t.tx_id) AS last FROM (
  SELECT coalesce(e.tx_id, (e.data ->> 'tx_id')::bigint) AS tx_id FROM journal_event e
  WHERE e.seq BETWEEN $1 AND $2 AND e.event_type = 'LedgerBalanceChanged'
) t
"""
_OF_TYPES = f"""
SELECT {COLUMNS} FROM {own_events_of("SELECT e.* FROM journal_event e WHERE e.event_type = ANY ($1) AND e.seq <= $2")} ORDER BY seq
"""  # noqa: S608
_COUNTS = counts_by_type("e.seq BETWEEN $1 AND $2")


class JournalPeriod(msgspec.Struct, frozen=True):
    """Events by type, and the first and the last ledger transaction, None without any."""

    first_sequence: int
    last_sequence: int
    events: dict[str, int]
    transactions: tuple[int, int] | None


async def events_of_types(tx: Tx, types: Sequence[str], last: int) -> list[StoredEvent]:
    """Return every stored event of these types, each of which is a row of its own, up to a sequence number."""
    return stored(await tx.fetch(_OF_TYPES, list(types), last))


async def read_period(tx: Tx, first: int, last: int | None) -> JournalPeriod:
    """Return the period from one sequence number to another, or to the newest; both are of events that are stored.

    Raises: SequenceUnknown, EventsArchived.
    """
    newest = await newest_sequence(tx)
    until = newest if last is None else last
    end = await boundary(tx)
    if end is not None and first <= end.sequence and first > 0:
        raise end.refusal()
    for sequence in dict.fromkeys((first, until)):
        if not await _exists(tx, sequence):
            raise SequenceUnknown(
                f"The journal has no event with the sequence number {sequence}; its newest has {newest}."
            )
    if until < first:
        raise SequenceUnknown(f"The period ends at {until}, before it begins at {first}.")
    row = await tx.fetchrow(_TRANSACTIONS, first, until)
    assert row is not None
    events = {line["event_type"]: line["events"] for line in await tx.fetch(_COUNTS, first, until)}
    transactions = None if row["first"] is None else (row["first"], row["last"])
    return JournalPeriod(first, until, dict(sorted(events.items())), transactions)


async def _exists(tx: Tx, sequence: int) -> bool:
    return 0 < sequence < 2**63 and bool(await tx.fetchval(_EXISTS, sequence))
