"""Every SQL statement of the auditor, which joins the relations that journal and ledger offer at their doors.

Locks: whoever writes the checkpoint takes the row of it; two at once end in a serialization failure of the later, which
is repeated whole. Verdicts are only added.
"""

import json
import secrets
from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import journal, ledger

from .liabilities import Commitment, hash_of
from .rules import Compared

# A whole history takes longer than a request may.
CYCLE_SECONDS = 900
CYCLE_MEMORY = "64MB"
CYCLE_WORKERS = 2
# Findings listed in a verdict, for each kind.
FINDINGS_MAX = 50

_KEEP_CHECKPOINT = """
INSERT INTO auditor_checkpoint (cluster, position, relics_to_seq, issued, destroyed, transit, fees_collected,
  circulating, unbalanced, compared_to_tx, compared_from_position, seen_tx, seen_position, seen_before)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (is_only) DO UPDATE SET cluster = excluded.cluster, position = excluded.position,
  relics_to_seq = excluded.relics_to_seq, issued = excluded.issued, destroyed = excluded.destroyed,
  transit = excluded.transit, fees_collected = excluded.fees_collected, circulating = excluded.circulating,
  unbalanced = excluded.unbalanced, compared_to_tx = excluded.compared_to_tx,
  compared_from_position = excluded.compared_from_position, seen_tx = excluded.seen_tx,
  seen_position = excluded.seen_position, seen_before = excluded.seen_before, kept_at = now()
"""

_FOLD_IN = """
INSERT INTO auditor_folded AS f (account, bucket, balance)
SELECT * FROM unnest($1::text[], $2::text[], $3::numeric[])
ON CONFLICT (account, bucket) DO UPDATE SET balance = f.balance + excluded.balance
"""

_ACCOUNT_GAPS = f"""
SELECT account, bucket, sum(folded) AS folded, sum(held) AS held FROM (
  SELECT account, bucket, balance AS folded, 0::bigint AS held FROM auditor_folded
  UNION ALL SELECT account, bucket, balance, 0 FROM unnest($1::text[], $2::text[], $3::numeric[]) AS p (account, bucket, balance)
  UNION ALL SELECT account, bucket, 0, balance FROM ({ledger.BALANCES}) b
) both_sides GROUP BY account, bucket HAVING sum(folded) <> sum(held) ORDER BY account, bucket LIMIT {FINDINGS_MAX}
"""  # noqa: S608

# Both sides of one transaction commit together, so that any snapshot sees both or neither. Two rows of numbers are taken to
# be the same when there are as many of them and their hashes, under a seed drawn for this once, have the same sum: to find
# which of ten million differ takes four times as long as to see that none does.
_RECORDED_NUMBERS = f"""
SELECT count(*), sum(hashint8extended(tx_id, $4)) AS total FROM ({journal.RECORDED_TRANSACTIONS}) r WHERE tx_id > $3
"""  # noqa: S608
_WRITTEN_NUMBERS = f"""
SELECT count(*), sum(hashint8extended(tx_id, $2)) AS total FROM ({ledger.WRITTEN_TRANSACTIONS}) w WHERE tx_id > $1
"""  # noqa: S608

_STRAYS = f"""
SELECT tx_id FROM (
  SELECT tx_id, 1 AS recorded, 0 AS written FROM ({journal.RECORDED_TRANSACTIONS}) r WHERE tx_id > $3
  UNION ALL SELECT tx_id, 0, 1 FROM ({ledger.WRITTEN_TRANSACTIONS}) w WHERE tx_id > $3
) both_sides GROUP BY tx_id HAVING sum(recorded) <> 1 OR sum(written) <> 1 ORDER BY tx_id LIMIT {FINDINGS_MAX}
"""  # noqa: S608

_ADD_VERDICT = """
INSERT INTO auditor_verdict (as_of_seq, from_zero, status, issued, destroyed, transit, fees_collected, circulating, delta,
  agent_count, checks, findings, breach_digest, typed_issued, typed_destroyed, liabilities_root, liabilities_accounts)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) RETURNING id, checked_at
"""

_LATEST = """
SELECT id, checked_at, as_of_seq, status, delta, checks, breach_digest,
  checked_at > clock_timestamp() - make_interval(secs => $1) AS is_recent
FROM auditor_verdict ORDER BY id DESC LIMIT 1
"""


# A cycle runs every minute, so numbers evenly spaced are times evenly spaced; each is one look into the primary key.
_SAMPLE = """
SELECT DISTINCT ON (v.id) v.checked_at, v.issued, v.destroyed, v.circulating, v.agent_count
FROM (SELECT min(id) AS oldest, max(id) AS newest FROM auditor_verdict) ends
CROSS JOIN generate_series(0, (SELECT $1::bigint) - 1) AS step
CROSS JOIN LATERAL (
  SELECT * FROM auditor_verdict WHERE id <= oldest + (newest - oldest) * step / ($1 - 1) ORDER BY id DESC LIMIT 1
) v ORDER BY v.id
"""


class Checkpoint(msgspec.Struct, frozen=True):
    """Sums of the ledger events before `folded_from`, in this cluster."""

    cluster: int
    folded_from: journal.FoldedFrom
    terms: journal.SupplyTerms
    compared: Compared


class AccountGap(msgspec.Struct, frozen=True):
    """Bucket whose balance is not the sum of its events; minor units."""

    account: str
    bucket: str
    difference: str


class NewVerdict(msgspec.Struct, frozen=True):
    """A verdict about to be written; `breach_digest` is None when all is sound."""

    as_of_seq: int
    from_zero: bool
    status: str
    terms: journal.SupplyTerms
    circulating: Minor
    delta: Minor
    agent_count: int
    checks: dict[str, str]
    findings: dict[str, list[str]]
    breach_digest: str | None
    typed: journal.TypedSupply
    liabilities: Commitment | None


class StoredVerdict(msgspec.Struct, frozen=True):
    """The latest verdict as it stands."""

    id: int
    checked_at: datetime
    as_of_seq: int
    status: str
    delta: Minor
    checks: dict[str, str]
    breach_digest: str | None
    is_recent: bool


async def allow_minutes(tx: Tx) -> None:
    """Give this transaction's statements the time, memory and help of other processes that a whole history needs."""
    await tx.execute(
        f"SET LOCAL statement_timeout = '{CYCLE_SECONDS}s'; SET LOCAL work_mem = '{CYCLE_MEMORY}';"
        f" SET LOCAL max_parallel_workers_per_gather = {CYCLE_WORKERS};"
        # What a process sends on are sums, few beside the rows that it reads: it is worth sharing whatever takes longer
        # than the start of a process, which the events of a minute do not.
        " SET LOCAL parallel_tuple_cost = 0"
    )


async def is_one_snapshot(tx: Tx) -> bool:
    """Return whether all statements of this transaction see the same moment."""
    isolation: str = await tx.fetchval("SHOW transaction_isolation")
    return isolation != "read committed"


async def take_turn(tx: Tx) -> bool:
    """Return whether nobody else advances the checkpoint now; held until the transaction ends."""
    free: bool = await tx.fetchval(
        "SELECT pg_try_advisory_xact_lock(hashtextextended('auditor checkpoint', 1))"
    )
    return free


async def wait_for_turn(tx: Tx) -> None:
    """Wait until nobody else advances the checkpoint; a snapshot that waited is repeated when it comes to write."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('auditor checkpoint', 1))")


async def touch_checkpoint(tx: Tx) -> Checkpoint | None:
    """Write the checkpoint as it is and return it: a cycle whose snapshot is older is repeated."""
    row = await tx.fetchrow("UPDATE auditor_checkpoint SET kept_at = now() RETURNING *")
    return _checkpoint(row) if row else None


async def read_checkpoint(tx: Tx) -> Checkpoint | None:
    """The checkpoint, or None before the first."""
    row = await tx.fetchrow("SELECT * FROM auditor_checkpoint")
    return _checkpoint(row) if row else None


def _checkpoint(row: asyncpg.Record) -> Checkpoint:
    return Checkpoint(
        row["cluster"],
        journal.FoldedFrom(row["position"], row["relics_to_seq"]),
        journal.SupplyTerms(
            Minor(int(row["issued"])),
            Minor(int(row["destroyed"])),
            Minor(int(row["transit"])),
            Minor(int(row["fees_collected"])),
            Minor(int(row["circulating"])),
            row["unbalanced"],
        ),
        Compared(
            row["compared_to_tx"],
            row["compared_from_position"],
            row["seen_tx"],
            row["seen_position"],
            row["seen_before"],
        ),
    )


async def keep_checkpoint(tx: Tx, reached: Checkpoint) -> None:
    """Write the only checkpoint."""
    terms, compared = reached.terms, reached.compared
    await tx.execute(
        _KEEP_CHECKPOINT,
        reached.cluster,
        reached.folded_from.position,
        reached.folded_from.relics_to_seq,
        terms.issued,
        terms.destroyed,
        terms.transit,
        terms.fees_collected,
        terms.circulating,
        terms.unbalanced_transactions,
        compared.to_tx,
        compared.from_position,
        compared.seen_tx,
        compared.seen_position,
        compared.seen_before,
    )


async def forget_folded(tx: Tx) -> None:
    """Delete every folded balance, before a fold from zero."""
    await tx.execute("DELETE FROM auditor_folded", timeout=CYCLE_SECONDS)


async def fold_in(tx: Tx, moves: Sequence[journal.Move]) -> None:
    """Add the movements of settled events to the folded balances."""
    await tx.execute(
        _FOLD_IN,
        [move.account for move in moves],
        [move.bucket for move in moves],
        [move.settled for move in moves],
        timeout=CYCLE_SECONDS,
    )


async def account_gaps(tx: Tx, pending: Sequence[journal.Move]) -> list[AccountGap]:
    """The first buckets whose balance is not the fold of their events."""
    rows = await tx.fetch(
        _ACCOUNT_GAPS,
        [move.account for move in pending],
        [move.bucket for move in pending],
        [move.pending for move in pending],
        timeout=CYCLE_SECONDS,
    )
    return [
        AccountGap(row["account"], row["bucket"], f"{(row['held'] - row['folded']).normalize():+f}")
        for row in rows
    ]


async def strays(
    tx: Tx, compared: Compared, relics_to_seq: int, recorded: journal.Numbers | None
) -> list[int]:
    """The first transactions that are in the book or in the log, and not exactly once in both.

    `recorded` has the numbers of the log where they are known already.
    """
    bounds = (compared.from_position, relics_to_seq, compared.to_tx)
    if recorded is None:
        recorded = await _numbers(tx, _RECORDED_NUMBERS, *bounds, seed=secrets.randbits(63))
    if recorded == await _numbers(tx, _WRITTEN_NUMBERS, compared.to_tx, seed=recorded.seed):
        return []
    rows = await tx.fetch(_STRAYS, *bounds, timeout=CYCLE_SECONDS)
    return [row["tx_id"] for row in rows]


async def _numbers(tx: Tx, query: str, *values: int, seed: int) -> journal.Numbers:
    row = await tx.fetchrow(query, *values, seed, timeout=CYCLE_SECONDS)
    assert row is not None
    return journal.Numbers(seed, row["count"], None if row["total"] is None else int(row["total"]))


async def add_verdict(tx: Tx, verdict: NewVerdict) -> tuple[int, datetime]:
    """Add to the history; returns its id and time."""
    liabilities = verdict.liabilities
    row = await tx.fetchrow(
        _ADD_VERDICT,
        verdict.as_of_seq,
        verdict.from_zero,
        verdict.status,
        verdict.terms.issued,
        verdict.terms.destroyed,
        verdict.terms.transit,
        verdict.terms.fees_collected,
        verdict.circulating,
        verdict.delta,
        verdict.agent_count,
        json.dumps(verdict.checks),
        json.dumps(verdict.findings),
        verdict.breach_digest,
        verdict.typed.issued,
        verdict.typed.destroyed,
        liabilities and hash_of(liabilities.root),
        liabilities and liabilities.accounts,
    )
    assert row is not None
    return row["id"], row["checked_at"]


async def latest_verdict(tx: Tx, recent_seconds: float = 0) -> StoredVerdict | None:
    """The newest verdict, or None before the first; `is_recent` when it is younger than `recent_seconds`."""
    row = await tx.fetchrow(_LATEST, float(recent_seconds))
    if row is None:
        return None
    return StoredVerdict(**{**row, "delta": Minor(int(row["delta"])), "checks": json.loads(row["checks"])})


async def sample_verdicts(tx: Tx, points: int) -> list[asyncpg.Record]:
    """At most so many verdicts, two or more, from the first to the newest."""
    return list(await tx.fetch(_SAMPLE, points))
