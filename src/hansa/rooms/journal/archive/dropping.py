"""Dropping a month of the journal whose archive was verified.

- In one transaction the rows are compared with the archive, the sums that folds need are kept, and the partition is deleted. Nothing is
  appended to the partition meanwhile; an event that came after the archive is found by the comparison.
- Months are dropped in order, so that everything before one position is gone.
- No reactor, counter or volume has yet to read the month.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.journal import reactors
from hansa_verify import RowTree

from . import store
from .errors import MonthNotDroppable
from .records import ArchivedMonth, Month

DETACH_TRIES = 60


async def require_expired(tx: Tx, month: Month, retention_months: int | None) -> None:
    """Raises: MonthNotDroppable, unless so many months have passed since the month ended."""
    if retention_months is None:
        raise MonthNotDroppable("RETENTION_MONTHS is not set: events are kept for good.")
    state = await store.state_of(tx, month)
    if state.is_dropped:
        raise MonthNotDroppable(f"{month.name} was dropped already.")
    expiry = _months_later(month.bounds[1], retention_months)
    if state.now < expiry:
        raise MonthNotDroppable(
            f"{month.name} is kept until {expiry:%Y-%m-%d}: RETENTION_MONTHS is {retention_months}."
        )


async def drop_month(
    tx: Tx, month: Month, manifest: Mapping[str, Any], digest: bytes, all_reactors: Sequence[Reactor]
) -> ArchivedMonth:
    """Delete the events of a month that the verified manifest describes. Raises: MonthNotDroppable."""
    archived = await store.find(tx, month.first)
    if archived is None or archived.manifest_sha256 != digest:
        raise MonthNotDroppable(f"The manifest is not the one that this registry recorded for {month.name}.")
    if earlier := await store.earliest_month_before(tx, month):
        raise MonthNotDroppable(f"Events of {earlier} are stored: months are dropped in order.")
    try:
        await store.hold_off_appends(tx, month)
    except asyncpg.UndefinedTableError:
        raise MonthNotDroppable(f"The journal has no partition for {month.name}.") from None
    await _require_as_archived(tx, month, manifest)
    if await store.is_uncounted(tx, archived.last_xid):
        raise MonthNotDroppable(
            f"Events of {month.name} are not counted yet; start the registry and try again."
        )
    if waiting := await reactors.reactors_before(tx, all_reactors, archived.last_xid):
        raise MonthNotDroppable(
            f"Events of {month.name} wait for the reactor {waiting[0]!r}; retry what it set aside, then try again."
        )
    if not await store.carry(tx, archived, month):
        raise MonthNotDroppable(f"{month.name} was archived anew or dropped meanwhile.")
    await _drop_partition(tx, month)
    return archived


async def _require_as_archived(tx: Tx, month: Month, manifest: Mapping[str, Any]) -> None:
    tree = RowTree()
    async for rows in store.rows_of(tx, month):
        for text in rows:
            tree.add(msgspec.json.decode(text), text)
    found = tree.statement()
    if any(manifest[name] != value for name, value in found.items()):
        raise MonthNotDroppable(
            f"{month.name} has {tree.size} rows here and {manifest['rows']} in the archive, or they differ: archive it anew."
        )


async def _drop_partition(tx: Tx, month: Month) -> None:
    for _ in range(DETACH_TRIES):
        try:
            return await store.drop_partition(tx, month)
        except asyncpg.LockNotAvailableError:
            continue
    raise MonthNotDroppable("The journal was in use without a pause; try again.")


def _months_later(moment: datetime, months: int) -> datetime:
    for _ in range(months):
        moment = (moment + timedelta(days=31)).replace(day=1)
    return moment.astimezone(UTC)
