"""Every SQL statement of the views. They read what an epoch has written (`reputation_flow`, `reputation_score`)."""

from collections.abc import Collection
from datetime import date

from hansa.foundation.plumbing.storage.database import Tx
from hansa_verify import decayed

from .records import Edge, ForeignFrame, VolumeDay

FRAMES_MAX = 200
# The weight orders the edges; the evidence of those that are shown is computed exactly, day by day.
_EDGES = """
WITH edge AS (
  SELECT giver, receiver, sum(counted_jobs)::bigint AS jobs,
    sum(counted_fee::float8 * power(2::float8, ($2::date - day) / -90.0::float8)) AS weight
  FROM reputation_flow
  WHERE (giver = ANY ($1) OR receiver = ANY ($1)) AND counted_jobs > 0
    AND NOT ((giver, receiver) IN (SELECT * FROM unnest($4::text[], $5::text[])))
  GROUP BY giver, receiver ORDER BY weight DESC, giver, receiver LIMIT $3
)
SELECT e.giver, e.receiver, e.jobs, f.ages, f.fees
FROM edge e, LATERAL (
  SELECT array_agg($2::date - day) AS ages, array_agg(counted_fee) AS fees
  FROM reputation_flow f WHERE f.giver = e.giver AND f.receiver = e.receiver AND counted_jobs > 0
) f ORDER BY e.weight DESC, e.giver, e.receiver
"""
_FLOWS_OF_DAYS = """
WITH flow AS (
  SELECT day, giver AS other, volume AS received, 0::numeric AS paid, jobs FROM reputation_flow
  WHERE receiver = $1 AND giver <> $1 AND day BETWEEN $2 AND $3 AND jobs > 0
  UNION ALL
  SELECT day, receiver, 0, volume, jobs FROM reputation_flow
  WHERE giver = $1 AND receiver <> $1 AND day BETWEEN $2 AND $3 AND jobs > 0
)
"""
_DAYS = f"""{_FLOWS_OF_DAYS}
SELECT day, sum(received) AS received, sum(paid) AS paid, sum(jobs)::bigint AS jobs FROM flow GROUP BY day ORDER BY day
"""  # noqa: S608
_SPREAD = f"""{_FLOWS_OF_DAYS}, party AS (SELECT other, sum(received + paid) AS volume FROM flow GROUP BY other)
SELECT count(*) AS counterparties, coalesce(max(p.volume) / nullif(sum(p.volume), 0), 0)::float8 AS top_share,
  coalesce(sum(p.volume) FILTER (WHERE o.organization_id = own.organization_id
    OR (o.organization_id IS NULL AND own.organization_id IS NULL AND o.developer_id = own.developer_id))
    / nullif(sum(p.volume), 0), 0)::float8 AS same_owner_share
FROM agents_ownership($1) own, party p LEFT JOIN LATERAL agents_ownership(p.other) o ON true
"""  # noqa: S608
_FRAMES = """
SELECT split_part(giver, ':', 3) AS ledger_id, sum(counted_jobs)::bigint AS jobs, sum(volume) AS volume,
  sum(disputes_lost)::bigint AS disputes_lost
FROM reputation_flow WHERE receiver = $1 AND split_part(giver, ':', 3) <> $2
GROUP BY 1 ORDER BY jobs DESC, 1 LIMIT $3
"""
_RANK = """
SELECT 100.0 * (SELECT count(*) FROM reputation_score WHERE score < s.score)
  / (SELECT count(*) FROM reputation_score) FROM reputation_score s WHERE agent_did = $1
"""


async def edges_of(
    tx: Tx, agents: Collection[str], epoch: date, most: int, known: Collection[Edge] = ()
) -> list[Edge]:
    """The heaviest edges from or to these agents, without the known ones."""
    givers, receivers = [edge.giver for edge in known], [edge.receiver for edge in known]
    rows = await tx.fetch(_EDGES, sorted(agents), epoch, most, givers, receivers)
    return [
        Edge(
            row["giver"],
            row["receiver"],
            row["jobs"],
            sum(decayed(int(fee), age) for age, fee in zip(row["ages"], row["fees"], strict=True)),
        )
        for row in rows
    ]


async def scores_of(tx: Tx, agents: Collection[str]) -> dict[str, int]:
    """The scores of those agents that have one."""
    rows = await tx.fetch(
        "SELECT agent_did, score FROM reputation_score WHERE agent_did = ANY ($1)", sorted(agents)
    )
    return {row["agent_did"]: row["score"] for row in rows}


async def rank_percentile(tx: Tx, agent: str) -> float | None:
    """How many percent of the agents with a score have a lower one; None for an agent without one."""
    found = await tx.fetchval(_RANK, agent)
    return None if found is None else round(float(found), 2)


async def volume_days(tx: Tx, agent: str, first: date, last: date) -> list[VolumeDay]:
    """The days with payments to or from the agent."""
    rows = await tx.fetch(_DAYS, agent, first, last)
    return [VolumeDay(row["day"], int(row["received"]), int(row["paid"]), row["jobs"]) for row in rows]


async def spread(tx: Tx, agent: str, first: date, last: date) -> tuple[int, float, float]:
    """How many counterparties the agent has, and the shares of the largest one and of those of its owner."""
    row = await tx.fetchrow(_SPREAD, agent, first, last)
    assert row is not None
    return row["counterparties"], round(row["top_share"], 4), round(row["same_owner_share"], 4)


async def foreign_frames(tx: Tx, agent: str, own: str) -> list[ForeignFrame]:
    """The frames whose agents paid the agent or won a dispute against it, those of most jobs first."""
    rows = await tx.fetch(_FRAMES, agent, own, FRAMES_MAX)
    return [
        ForeignFrame(row["ledger_id"], row["jobs"], int(row["volume"]), row["disputes_lost"]) for row in rows
    ]
