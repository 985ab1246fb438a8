"""Readings that meet months which were dropped: no reader passes over events without an error that says so.

A page is read first and its cursor judged afterwards, in a transaction of its own: a month that was dropped while the page was
read is seen then.
"""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms.journal.ledger_readings import AccountKey, LedgerReadings

from .errors import EventsArchived

Place = tuple[int, int]

_BOUNDARY = """
SELECT last_xid, last_seq, (SELECT max(last_sequence) FROM journal_archive WHERE dropped_at IS NOT NULL) AS sequence
FROM journal_archive WHERE dropped_at IS NOT NULL ORDER BY last_xid DESC, last_seq DESC LIMIT 1
"""

_DROPPED_RANGES = """
SELECT lower(r) AS first, upper(r) AS past FROM journal_archive a CROSS JOIN LATERAL unnest(a.tx_ids) AS r
WHERE a.dropped_at IS NOT NULL ORDER BY 1
"""

_IS_DROPPED = (
    "SELECT EXISTS (SELECT FROM journal_archive WHERE dropped_at IS NOT NULL AND tx_ids @> $1::bigint)"
)

_LAST_FILED = "SELECT xid, seq FROM journal_carried_place WHERE did = $1"


class Boundary(msgspec.Struct, frozen=True):
    """Position and sequence number of the last event that was dropped."""

    place: Place
    sequence: int

    def refusal(self) -> EventsArchived:
        """The error for a reader before it."""
        return EventsArchived(
            f"Events up to sequence number {self.sequence} were archived; events behind this position are not stored here any more."
        )


class DroppedRange(msgspec.Struct, frozen=True):
    """Consecutive numbers of ledger transactions whose events were dropped: from `first` on, before `past`."""

    first: int
    past: int


async def boundary(tx: Tx) -> Boundary | None:
    """The end of what was dropped; None while everything is stored."""
    row = await tx.fetchrow(_BOUNDARY)
    return Boundary((row["last_xid"], row["last_seq"]), row["sequence"]) if row else None


async def require_stored_behind(tx: Tx, place: Place) -> None:
    """Raises: EventsArchived, when events behind this place of the log were dropped."""
    end = await boundary(tx)
    if end is not None and place < end.place:
        raise end.refusal()


async def require_transaction_stored(tx: Tx, tx_id: int) -> None:
    """Raises: EventsArchived, when the events of this transaction were dropped."""
    if await tx.fetchval(_IS_DROPPED, tx_id):
        raise EventsArchived(
            f"The events of transaction tx-{tx_id} were archived and are not stored here any more."
        )


async def require_filed_stored_behind(tx: Tx, did: str, place: Place) -> None:
    """Raises: EventsArchived, when an event filed under the DID behind this place was dropped."""
    end = await boundary(tx)
    if end is not None and place < await last_place_dropped(tx, did):
        raise end.refusal()


async def last_place_dropped(tx: Tx, did: str) -> Place:
    """The place of the last event filed under the DID that was dropped; the beginning of the log without any."""
    row = await tx.fetchrow(_LAST_FILED, did)
    return (row["xid"], row["seq"]) if row else (0, 0)


async def dropped_ranges(tx: Tx) -> list[DroppedRange]:
    """The numbers of transactions whose events were dropped, in order."""
    return [DroppedRange(**row) for row in await tx.fetch(_DROPPED_RANGES)]


async def stored_keys_of_account(
    tx: Tx, ledger: LedgerReadings, account: tuple[str, str], position: int, limit: int, *, newest_first: bool
) -> list[AccountKey]:
    """The keys that `ledger.keys_of_account` returns, without those of dropped events; `account` is its DID and frame."""
    dropped, keys = await read_together(
        tx,
        dropped_ranges,
        lambda tx: ledger.keys_of_account(tx, *account, position, limit, newest_first=newest_first),
    )
    found, asked = _stored_of(keys, dropped), limit
    while len(keys) == asked and len(found) < limit:
        position, asked = _beyond(dropped, keys[-1].position, newest_first=newest_first), limit - len(found)
        keys = await ledger.keys_of_account(tx, *account, position, asked, newest_first=newest_first)
        found += _stored_of(keys, dropped)
    return found


def _stored_of(keys: Sequence[AccountKey], dropped: Sequence[DroppedRange]) -> list[AccountKey]:
    return [key for key in keys if not any(one.first <= key.position < one.past for one in dropped)]


def _beyond(dropped: Sequence[DroppedRange], position: int, *, newest_first: bool) -> int:
    """The position from which the next transaction need not be a dropped one."""
    for one in reversed(dropped) if newest_first else dropped:
        if newest_first and one.first < position <= one.past:
            position = one.first
        elif not newest_first and one.first - 1 <= position < one.past - 1:
            position = one.past - 1
    return position
