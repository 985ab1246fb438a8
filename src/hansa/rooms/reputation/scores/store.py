"""Every SQL statement of scores and track records.

Signals are written by one reactor, one transaction after another, so that no signal appears behind a later id.

The SQL of the units with which owners pay for jobs that count. Locks: rows of developers in the order of their ids, then those of organizations.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple
from datetime import date
from typing import Any, NamedTuple

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_states import PageState
from hansa.foundation.values.money import Minor
from hansa.foundation.values.rights import Owner
from hansa_verify import FORMULA, Score, Signal, grade_of

from .records import Epoch, GradeChange, PaidJob, RecordedSignal, Reputation, StoredSignal, TrackRecord

ROWS_AT_ONCE = 5000
_ADD_SIGNALS = """
INSERT INTO reputation_signal (event_seq, event_type, at, kind, giver, receiver, amount, fee, counts)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::bigint[],
  $8::bigint[], $9::boolean[])
ON CONFLICT (event_seq) DO NOTHING
"""
_SIGNALS = (
    "SELECT id, event_seq, event_type, kind, at, giver, receiver, amount, fee, counts FROM reputation_signal"
)
_UNRECORDED = f"""
{_SIGNALS} WHERE id > (SELECT recorded FROM reputation_progress FOR UPDATE) ORDER BY id LIMIT $1
"""  # noqa: S608
_RECORDED = "UPDATE reputation_progress SET recorded = $1"
# In this order: of several jobs of a counterparty on a day the first is verified.
_VERIFY_JOBS = """
INSERT INTO reputation_verified_job (agent_did, counterparty, day, event_seq)
SELECT n.agent_did, n.counterparty, (n.at AT TIME ZONE 'UTC')::date, n.event_seq
FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[]) WITH ORDINALITY AS n (agent_did, counterparty, at, event_seq, place)
ORDER BY n.place ON CONFLICT DO NOTHING RETURNING event_seq
"""
_ADD_JOBS = """
INSERT INTO reputation_record AS r (agent_did, jobs_verified, jobs_foreign, volume, fees, contracts_completed, first_job_at)
SELECT n.agent_did, count(*) FILTER (WHERE n.is_verified), count(*) FILTER (WHERE n.is_verified AND n.is_foreign),
  sum(n.amount), coalesce(sum(n.fee) FILTER (WHERE NOT n.is_foreign), 0), count(*) FILTER (WHERE n.is_contract), min(n.at)
FROM unnest($1::text[], $2::boolean[], $3::boolean[], $4::bigint[], $5::bigint[], $6::boolean[], $7::timestamptz[])
  AS n (agent_did, is_verified, is_foreign, amount, fee, is_contract, at) GROUP BY n.agent_did ORDER BY n.agent_did
ON CONFLICT (agent_did) DO UPDATE SET jobs_verified = r.jobs_verified + excluded.jobs_verified,
  jobs_foreign = r.jobs_foreign + excluded.jobs_foreign, volume = r.volume + excluded.volume,
  fees = r.fees + excluded.fees,
  contracts_completed = r.contracts_completed + excluded.contracts_completed,
  first_job_at = least(r.first_job_at, excluded.first_job_at)
"""
_ADD_RULING = """
INSERT INTO reputation_record AS r (agent_did, disputes_won, disputes_lost) VALUES ($1, $2, $3)
ON CONFLICT (agent_did) DO UPDATE SET disputes_won = r.disputes_won + excluded.disputes_won,
  disputes_lost = r.disputes_lost + excluded.disputes_lost, fees = CASE WHEN $4 THEN 0 ELSE r.fees END
"""
# The counterparty of a foreign job is the registry of its payer: the DID without its last part.
_RECORDED_AFTER = """
SELECT s.id, s.event_seq, s.at, s.kind, s.giver, s.receiver, s.counts, v.event_seq IS NOT NULL AS is_verified,
  coalesce(v.counterparty = regexp_replace(s.giver, ':[^:]*$', ''), false) AS is_foreign
FROM reputation_signal s LEFT JOIN reputation_verified_job v ON v.event_seq = s.event_seq
WHERE s.id > $1 AND s.id <= reputation_recorded() ORDER BY s.id LIMIT $2
"""
# No row: there is no such agent here.
_RECORD = """
SELECT r.jobs_verified, r.jobs_foreign, r.volume, r.fees, r.contracts_completed, r.disputes_won, r.disputes_lost, r.first_job_at
FROM agents_status($1) a (status) LEFT JOIN reputation_record r ON r.agent_did = $1 WHERE a.status IS NOT NULL
"""
_EPOCH = "SELECT epoch, through, formula, computed_at FROM reputation_epoch"
# No row: there is no such agent here.
_REPUTATION = f"""
SELECT s.score, s.paid_work, s.payments_made, s.disputes_won, s.disputes_lost, e.epoch, e.through, e.formula, e.computed_at
FROM agents_status($1) a (status) LEFT JOIN reputation_score s ON s.agent_did = $1
LEFT JOIN ({_EPOCH} ORDER BY epoch DESC LIMIT 1) e ON true WHERE a.status IS NOT NULL
"""  # noqa: S608
_GRADES = "SELECT epoch, grade, score FROM reputation_grade WHERE agent_did = $1 ORDER BY epoch DESC LIMIT $2"
# Whether the day is not computed yet, and the reactor has passed its midnight or waits for nothing.
_IS_DUE = """
SELECT NOT EXISTS (SELECT FROM reputation_epoch WHERE epoch = t.today) AS due, t.today,
  coalesce((SELECT at FROM reputation_signal ORDER BY id DESC LIMIT 1) >= t.today::timestamp AT TIME ZONE 'UTC', false)
    AS is_passed
FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS today) t
"""
HAS_DUE_EPOCH = Question(f"SELECT due FROM ({_IS_DUE}) t")  # noqa: S608
"""Whether there are no scores of today yet."""


class _Funds(NamedTuple):
    """Statements of a table of units by owner."""

    open: str
    lock: str
    write: str

    @classmethod
    def of(cls, table: str, owner: str, kind: str) -> "_Funds":
        """Return the statements of this table with owners of this kind in the column `owner`."""
        return cls(
            open=f"INSERT INTO {table} ({owner}) SELECT unnest($1::{kind}[]) ON CONFLICT DO NOTHING",
            lock=f"SELECT {owner} AS owner, available FROM {table} WHERE {owner} = ANY ($1)"  # noqa: S608
            f" ORDER BY {owner} FOR NO KEY UPDATE",
            write=f"UPDATE {table} f SET available = n.available FROM unnest($1::{kind}[], $2::numeric[]) AS n (owner, available)"  # noqa: S608
            f" WHERE f.{owner} = n.owner AND f.available <> n.available",
        )


_OF_DEVELOPERS = _Funds.of("reputation_funds", "developer_id", "bigint")
_OF_ORGANIZATIONS = _Funds.of("reputation_organization_funds", "organization_id", "uuid")


_THROUGH = "SELECT coalesce(max(id), 0) FROM reputation_signal"
# The penalty of a ruling is at least a minimum, so rulings are not added up here.
_SIGNALS_OF_EPOCH = """
SELECT kind, (at AT TIME ZONE 'UTC')::date - date '1970-01-01' AS day, giver, receiver, sum(fee) AS fee, counts
FROM reputation_signal
WHERE id <= $1 AND at < $2::date::timestamp AT TIME ZONE 'UTC'
GROUP BY kind, day, giver, receiver, counts, CASE WHEN kind <> 'payment' THEN id END
"""
_ADD_EPOCH = """
INSERT INTO reputation_epoch (epoch, through, formula) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING epoch
"""
# Signals that an earlier epoch counted are in the flows already.
_ADD_FLOWS = """
WITH before AS (SELECT epoch, through FROM reputation_epoch WHERE has_flows ORDER BY epoch DESC LIMIT 1)
INSERT INTO reputation_flow AS f (giver, receiver, day, jobs, volume, counted_jobs, counted_fee, disputes_lost)
SELECT s.giver, s.receiver, (s.at AT TIME ZONE 'UTC')::date, count(*) FILTER (WHERE s.kind = 'payment'),
  coalesce(sum(s.amount) FILTER (WHERE s.kind = 'payment'), 0), count(*) FILTER (WHERE s.kind = 'payment' AND s.counts),
  coalesce(sum(s.fee) FILTER (WHERE s.kind = 'payment' AND s.counts), 0),
  count(*) FILTER (WHERE s.kind = 'ruling_for_complainant')
FROM reputation_signal s LEFT JOIN before b ON true
WHERE s.id <= $2 AND s.at < $1::date::timestamp AT TIME ZONE 'UTC'
  AND (b.epoch IS NULL OR s.id > b.through OR s.at >= b.epoch::timestamp AT TIME ZONE 'UTC')
GROUP BY 1, 2, 3
ON CONFLICT (receiver, day, giver) DO UPDATE SET jobs = f.jobs + excluded.jobs, volume = f.volume + excluded.volume,
  counted_jobs = f.counted_jobs + excluded.counted_jobs, counted_fee = f.counted_fee + excluded.counted_fee,
  disputes_lost = f.disputes_lost + excluded.disputes_lost
"""
_SCORES = """
unnest($2::text[], $3::smallint[], $4::text[], $5::numeric[], $6::numeric[], $7::numeric[], $8::numeric[])
  AS n (agent_did, score, grade, paid_work, payments_made, disputes_won, disputes_lost)
"""
_ADD_GRADES = f"""
INSERT INTO reputation_grade (agent_did, epoch, grade, score)
SELECT n.agent_did, $1, n.grade, n.score FROM {_SCORES} LEFT JOIN reputation_score o USING (agent_did)
WHERE n.grade <> coalesce(o.grade, 'unrated') ORDER BY n.agent_did
"""  # noqa: S608
_WRITE_SCORES = f"""
INSERT INTO reputation_score (agent_did, epoch, score, grade, paid_work, payments_made, disputes_won, disputes_lost)
SELECT n.agent_did, $1, n.score, n.grade, n.paid_work, n.payments_made, n.disputes_won, n.disputes_lost FROM {_SCORES}
ORDER BY n.agent_did
ON CONFLICT (agent_did) DO UPDATE SET epoch = excluded.epoch, score = excluded.score, grade = excluded.grade,
  paid_work = excluded.paid_work, payments_made = excluded.payments_made, disputes_won = excluded.disputes_won,
  disputes_lost = excluded.disputes_lost
"""  # noqa: S608
HAS_OFF_CARD = Question("SELECT EXISTS (SELECT FROM reputation_score WHERE on_card <> score)")
"""Whether a card shows another score than that of the newest epoch."""
_TAKE_OFF_CARD = """
UPDATE reputation_score s SET on_card = s.score
FROM (SELECT agent_did FROM reputation_score WHERE on_card <> score ORDER BY agent_did LIMIT $1 FOR UPDATE SKIP LOCKED) off
WHERE s.agent_did = off.agent_did RETURNING s.agent_did, s.score
"""
_EXPORTED = f"""
{_SIGNALS} WHERE id > $1 AND id <= $2 AND at < $3::date::timestamp AT TIME ZONE 'UTC' ORDER BY id LIMIT $4
"""
_EXPORTED_SCORES = """
SELECT agent_did, score FROM reputation_score WHERE agent_did > $1 AND epoch = $2 ORDER BY agent_did LIMIT $3
"""
SCORE_STATE = PageState("""
SELECT concat_ws(' ', 'of', (SELECT xmin::text FROM reputation_score WHERE agent_did = asked.did),
  'in', (SELECT xmin::text FROM reputation_epoch ORDER BY epoch DESC LIMIT 1))
WHERE agents_status(asked.did) IS NOT NULL
""")
"""The score of an agent of this registry in the newest epoch (`reputation_of`)."""
RECORD_STATE = PageState("SELECT xmin::text FROM reputation_record WHERE agent_did = asked.did")
"""The track record of an agent; none before anything counts (`track_record_of`)."""
GRADES_STATE = PageState("""
SELECT xmin::text FROM reputation_grade WHERE agent_did = asked.did ORDER BY epoch DESC LIMIT 1
""")
"""The changes of an agent's grade (`grade_history_of`)."""


async def add_signals(tx: Tx, noted: Sequence[tuple[StoredEvent, Signal, Minor]]) -> None:
    """Write signals in this order with the units paid, once for each event."""
    rows = [
        (
            event.sequence,
            event.event_type,
            event.timestamp,
            s.kind,
            s.giver,
            s.receiver,
            amount,
            s.fee,
            s.counts,
        )
        for event, s, amount in noted
    ]
    await tx.execute(_ADD_SIGNALS, *_columns(rows))


async def noted_events(tx: Tx, events: Sequence[int]) -> frozenset[int]:
    """Those of these events that are signals already."""
    statement = "SELECT event_seq FROM reputation_signal WHERE event_seq = ANY ($1)"
    return frozenset(row["event_seq"] for row in await tx.fetch(statement, events))


async def unrecorded(tx: Tx, most: int) -> list[StoredSignal]:
    """The next signals that are in no record yet, in order; no other transaction gets them meanwhile."""
    return [StoredSignal(**row) for row in await tx.fetch(_UNRECORDED, most)]


async def set_recorded(tx: Tx, through: int) -> None:
    """The signals up to this one are in the records."""
    await tx.execute(_RECORDED, through)


async def recorded_after(tx: Tx, signal: int, most: int) -> list[RecordedSignal]:
    """The signals after this one that are in the records, in order."""
    return [RecordedSignal(**row) for row in await tx.fetch(_RECORDED_AFTER, signal, most)]


async def verify_jobs(tx: Tx, jobs: Sequence[tuple[StoredSignal, str]]) -> frozenset[int]:
    """The events of those jobs that are the first of their counterparty on their day, which are verified."""
    if not jobs:
        return frozenset()
    rows = [(job.receiver, counterparty, job.at, job.event_seq) for job, counterparty in jobs]
    return frozenset(row["event_seq"] for row in await tx.fetch(_VERIFY_JOBS, *_columns(rows)))


async def add_jobs(tx: Tx, jobs: Sequence[PaidJob]) -> None:
    """Count jobs of the agents that were paid for them."""
    rows = [
        (
            job.signal.receiver,
            job.is_verified,
            job.is_foreign,
            job.signal.amount,
            job.signal.fee,
            job.is_contract,
            job.signal.at,
        )
        for job in jobs
    ]
    if rows:
        await tx.execute(_ADD_JOBS, *_columns(rows))


async def add_ruling(tx: Tx, agent_did: str, *, won: bool, takes_fees: bool) -> None:
    """Count a dispute that the agent has won or lost; the fees of its jobs are gone where it lost as the defendant."""
    await tx.execute(_ADD_RULING, agent_did, int(won), int(not won), takes_fees)


async def track_record(tx: Tx, agent_did: str) -> TrackRecord | None:
    """The track record of an agent, an empty one if nothing counts yet; None: there is no such agent here."""
    row = await tx.fetchrow(_RECORD, agent_did)
    if row is None:
        return None
    if row["volume"] is None:
        return TrackRecord()
    return TrackRecord(**{**row, "volume": int(row["volume"]), "fees": int(row["fees"])})


async def newest_epoch(tx: Tx) -> Epoch | None:
    """The newest computation of scores."""
    row = await tx.fetchrow(f"{_EPOCH} ORDER BY epoch DESC LIMIT 1")
    return Epoch(**row) if row else None


async def reputation_of(tx: Tx, agent_did: str) -> Reputation | None:
    """The score of an agent in the newest epoch; None: there is no such agent here."""
    row = await tx.fetchrow(_REPUTATION, agent_did)
    if row is None:
        return None
    *score, epoch, through, formula, computed_at = row
    return Reputation(
        agent_did,
        Score(*(int(one or 0) for one in score)),
        None if epoch is None else Epoch(epoch, through, formula, computed_at),
    )


async def grade_changes(tx: Tx, agent_did: str, most: int) -> list[GradeChange]:
    """The newest changes of an agent's grade, the newest first."""
    return [GradeChange(**row) for row in await tx.fetch(_GRADES, agent_did, most)]


async def due_epoch(tx: Tx) -> tuple[date, bool] | None:
    """The day whose scores are to be computed, and whether signals of that day were noted; None if it is computed."""
    row = await tx.fetchrow(_IS_DUE)
    assert row is not None
    return (row["today"], row["is_passed"]) if row["due"] else None


async def last_signal(tx: Tx) -> int:
    """The id of the newest signal, 0 without any."""
    found: int = await tx.fetchval(_THROUGH)
    return found


async def signals_of_epoch(tx: Tx, epoch: date, through: int) -> list[Signal]:
    """The signals of earlier days; payments of the same agents and day are one."""
    rows = tx.cursor(_SIGNALS_OF_EPOCH, through, epoch, prefetch=ROWS_AT_ONCE)
    return [
        Signal(row["kind"], row["day"], row["giver"], row["receiver"], int(row["fee"]), row["counts"])
        async for row in rows
    ]


async def add_epoch(tx: Tx, epoch: date, through: int) -> bool:
    """Write an epoch; False if it is there already."""
    return await tx.fetchval(_ADD_EPOCH, epoch, through, FORMULA) is not None


async def add_flows(tx: Tx, epoch: date, through: int) -> None:
    """Add what the signals of an epoch that no earlier one counted moved between agents."""
    await tx.execute(_ADD_FLOWS, epoch, through)
    await tx.execute("UPDATE reputation_epoch SET has_flows = true WHERE epoch = $1", epoch)


async def write_scores(tx: Tx, epoch: date, scores: Sequence[tuple[str, Score]]) -> None:
    """Write the scores of an epoch, and which grades they change."""
    for start in range(0, len(scores), ROWS_AT_ONCE):
        part = scores[start : start + ROWS_AT_ONCE]
        agents = [agent for agent, _ in part]
        score, *evidence = zip(*(astuple(one) for _, one in part), strict=True)
        columns = (agents, score, [grade_of(one) for one in score], *evidence)
        await tx.execute(_ADD_GRADES, epoch, *columns)
        await tx.execute(_WRITE_SCORES, epoch, *columns)


async def take_scores_off_card(tx: Tx, most: int) -> dict[str, int]:
    """Scores that the cards of their agents do not show yet; they count as shown when this commits."""
    return {row["agent_did"]: row["score"] for row in await tx.fetch(_TAKE_OFF_CARD, most)}


async def exported_signals(tx: Tx, epoch: Epoch, after: int, most: int) -> list[StoredSignal]:
    """The signals that the scores of an epoch were computed from, in order."""
    rows = await tx.fetch(_EXPORTED, after, epoch.through, epoch.epoch, most)
    return [StoredSignal(**row) for row in rows]


async def exported_scores(tx: Tx, epoch: Epoch, after: str, most: int) -> dict[str, int]:
    """Scores of an epoch, in order of the DIDs."""
    rows = await tx.fetch(_EXPORTED_SCORES, after, epoch.epoch, most)
    return {row["agent_did"]: row["score"] for row in rows}


def _columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    """Rows as the arrays that a statement takes."""
    return [list(column) for column in zip(*rows, strict=True)]


async def lock_funds(tx: Tx, owners: Collection[Owner]) -> dict[Owner, int]:
    """The units of these owners, locked until the transaction ends."""
    developers = sorted(one.developer_id for one in owners if one.developer_id is not None)
    organizations = sorted(one.organization_id for one in owners if one.organization_id is not None)
    held = {Owner(one): units for one, units in (await _lock(tx, _OF_DEVELOPERS, developers)).items()}
    for one, units in (await _lock(tx, _OF_ORGANIZATIONS, organizations)).items():
        held[Owner(None, one)] = units
    return held


async def _lock(tx: Tx, funds: _Funds, ids: Sequence[Any]) -> dict[Any, int]:
    if not ids:
        return {}
    await tx.execute(funds.open, ids)
    return {row["owner"]: int(row["available"]) for row in await tx.fetch(funds.lock, ids)}


async def write_funds(tx: Tx, available: Mapping[Owner, int]) -> None:
    """Write the units of locked owners."""
    developers = {one.developer_id: units for one, units in available.items() if one.organization_id is None}
    organizations = {one.organization_id: units for one, units in available.items() if one.organization_id}
    await tx.execute(_OF_DEVELOPERS.write, list(developers), list(developers.values()))
    if organizations:
        await tx.execute(_OF_ORGANIZATIONS.write, list(organizations), list(organizations.values()))


async def granted(tx: Tx) -> int:
    """The last grant of an administrator that is in the funds."""
    last: int = await tx.fetchval("SELECT granted FROM reputation_progress")
    return last


async def set_granted(tx: Tx, last: int) -> None:
    """The grants up to this one are in the funds."""
    await tx.execute("UPDATE reputation_progress SET granted = $1", last)
