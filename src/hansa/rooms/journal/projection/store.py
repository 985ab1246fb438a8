"""The SQL of projections.

A ledger event comes after a baseline when its transaction is not visible in the PostgreSQL snapshot in which the
baseline was read: neither sequence numbers nor clocks show that. Such a snapshot means nothing in another database
cluster: after a restore, projections begin at the first event until a new baseline is written.
"""

from collections.abc import AsyncIterator
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import first_position, present_snapshot
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms.journal.ledger_readings import Held

# A fold may read much of the log; only its caller waits for it.
FOLD_SECONDS = 600.0
FETCHED_AT_ONCE = 2000


class BaselineMark(msgspec.Struct, frozen=True):
    """Transaction that wrote a baseline, and the snapshot that it was read in."""

    xid: int
    position: str


# No transaction is visible in it.
NOTHING_YET = BaselineMark(0, "3:3:")


class WrittenEvent(msgspec.Struct, frozen=True):
    """Place of a baseline in the journal."""

    id: UUID
    sequence: int


_NEWEST_BASELINE = """
SELECT e.xid, e.data ->> 'position' AS position
FROM journal_event e LEFT JOIN journal_emission_policy p USING (event_type)
WHERE e.event_type = 'ProjectionSnapshot' AND NOT coalesce(p.skip_in_projection, false) AND e.xid >= $1
  AND split_part(e.data ->> 'position', ':', 1)::bigint
    > coalesce((SELECT max(last_xid) FROM journal_archive WHERE dropped_at IS NOT NULL), 0)
  AND e.event_type NOT IN ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected')
ORDER BY e.xid DESC, e.seq DESC LIMIT 1
"""

_OWN_BASELINE = """
SELECT id, seq AS sequence FROM journal_event
WHERE event_type = 'ProjectionSnapshot' AND xid = plumbing_position()
  AND event_type NOT IN ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected')
ORDER BY seq LIMIT 1
"""

_FOLD = """
SELECT account, bucket, (sum(units) * $4)::bigint AS amount FROM (
  SELECT held ->> 'account' AS account, held ->> 'bucket' AS bucket, (held ->> 'balance')::numeric AS units
  FROM journal_event e, jsonb_array_elements(e.data -> 'balances') AS held
  WHERE e.event_type = 'ProjectionSnapshot' AND e.xid = $1
  UNION ALL
  SELECT entry.account, entry.bucket, entry.delta FROM journal_event e CROSS JOIN LATERAL journal_entries(e) entry
  WHERE e.event_type = 'LedgerBalanceChanged' AND e.xid >= $2
    AND NOT pg_visible_in_snapshot(e.xid::text::xid8, $3::text::pg_snapshot)
  UNION ALL
  SELECT account, bucket, balance / $4 FROM journal_carried WHERE $1 = 0
) moved
GROUP BY account, bucket HAVING sum(units) <> 0 ORDER BY account COLLATE "C", bucket COLLATE "C"
"""


async def read_one_moment(tx: Tx) -> None:
    """Make this transaction, which is fresh or reads one snapshot already, read one, and give its folds time."""
    await tx.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    await tx.execute(f"SET LOCAL statement_timeout = '{FOLD_SECONDS:g}s'")


async def present_position(tx: Tx) -> str:
    """The snapshot of this transaction."""
    return await present_snapshot(tx)


async def newest_baseline(tx: Tx) -> BaselineMark | None:
    """The newest baseline that projections begin from; none that was read in another database cluster."""
    row = await tx.fetchrow(_NEWEST_BASELINE, await first_position(tx))
    return BaselineMark(**row) if row else None


async def own_baseline(tx: Tx) -> WrittenEvent | None:
    """The first event of the baseline that this transaction wrote."""
    row = await tx.fetchrow(_OWN_BASELINE)
    return WrittenEvent(**row) if row else None


async def fold_balances(tx: Tx, baseline: BaselineMark) -> AsyncIterator[Held]:
    """A baseline and every later movement, summed up by account and bucket, in order."""
    xmin = int(baseline.position.partition(":")[0])
    rows = tx.cursor(
        _FOLD,
        baseline.xid,
        xmin,
        baseline.position,
        UNIT,
        prefetch=FETCHED_AT_ONCE,
        timeout=FOLD_SECONDS,
    )
    async for row in rows:
        yield Held(row["account"], row["bucket"], Minor(row["amount"]))
