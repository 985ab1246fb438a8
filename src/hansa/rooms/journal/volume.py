"""Volume paid between accounts, by day: a table that a job brings up to date with the settled events."""

from collections.abc import Sequence
from datetime import date

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from . import counting_store

ADDED_AT_ONCE = 500_000

# A transfer or capture is one row without `data`, or, before decision 0042, a row whose second entry is the payee's.
_ADD_BETWEEN = """
WITH moved AS (UPDATE journal_volume_counted SET before_xid = $2)
INSERT INTO journal_volume AS v (day, payments, amount)
SELECT (e.recorded_at AT TIME ZONE 'UTC')::date, count(*),
  sum(coalesce(e.amount, (e.data -> 'entries' -> 1 ->> 'delta')::numeric * 100000000))
FROM journal_event e
WHERE e.xid >= $1 AND e.xid < $2 AND e.event_type = 'LedgerBalanceChanged'
  AND coalesce(e.tx_type, e.data ->> 'tx_type') IN ('transfer', 'capture')
GROUP BY 1
ON CONFLICT (day) DO UPDATE SET payments = v.payments + excluded.payments, amount = v.amount + excluded.amount
"""

_BY_DAY = "SELECT day, payments, amount::bigint AS amount FROM journal_volume ORDER BY day DESC LIMIT $1"


class DayVolume(msgspec.Struct, frozen=True):
    """Volume paid on a day (UTC), without fees; amount in minor units."""

    day: date
    payments: int
    amount: Minor


async def add_settled_volume(tx: Tx) -> None:
    """Add the volume that became settled since the last time, in order and with a limit for each run."""
    counted: int = await tx.fetchval("SELECT before_xid FROM journal_volume_counted FOR UPDATE")
    horizon = await counting_store.horizon(tx, counted, ADDED_AT_ONCE)
    if horizon > counted:
        await tx.execute(_ADD_BETWEEN, counted, horizon)


async def volume_by_day(tx: Tx, days: int) -> Sequence[DayVolume]:
    """The newest days on which anything was paid, oldest first."""
    rows = await tx.fetch(_BY_DAY, days)
    return [DayVolume(row["day"], row["payments"], Minor(row["amount"])) for row in reversed(rows)]
