"""Every SQL statement of achievements.

Locks: the row of progress, so that one process counts at a time; rows of tallies are written by it alone.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_states import PageState

from .records import Earned, Life, Tally

HAS_UNCOUNTED = Question("SELECT counted < reputation_recorded() FROM achievements_progress")
"""Question for signals that records count and the tallies do not have."""

ACHIEVEMENTS_STATE = PageState("""
SELECT concat_ws(',', (SELECT string_agg(code, ',' ORDER BY code) FROM achievements_earned WHERE agent_did = asked.did),
  (SELECT 'year' FROM achievements_life WHERE agent_did = asked.did
    AND began_at + interval '365 days' <= least(now(), coalesce(ended_at, now()))),
  (SELECT 'dashed' FROM achievements_tally WHERE agent_did = asked.did AND foreigners > 0))
WHERE NOT EXISTS (SELECT FROM achievements_hidden WHERE agent_did = asked.did)
""")
"""The achievements that an agent earned; none while its owner hides them, empty before the first one."""

_WRITE_STANDINGS = """
INSERT INTO achievements_tally (agent_did, verified, foreigners, settled)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
ON CONFLICT (agent_did) DO UPDATE
SET verified = excluded.verified, foreigners = excluded.foreigners, settled = excluded.settled
"""
_ADD_EARNED = """
INSERT INTO achievements_earned (agent_did, code, earned_at, event_seq)
SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[]) ON CONFLICT DO NOTHING
"""
_BEGIN = """
INSERT INTO achievements_life AS l (agent_did, began_at, event_seq) VALUES ($1, $2, $3)
ON CONFLICT (agent_did) DO UPDATE SET began_at = coalesce(l.began_at, excluded.began_at),
  event_seq = coalesce(l.event_seq, excluded.event_seq)
"""
_END = """
INSERT INTO achievements_life AS l (agent_did, ended_at) VALUES ($1, $2)
ON CONFLICT (agent_did) DO UPDATE SET ended_at = coalesce(l.ended_at, excluded.ended_at)
"""
# No row: there is no such agent here.
_READ = """
SELECT now() AS now, h.agent_did IS NULL AS is_shown, l.began_at, l.event_seq, l.ended_at,
  coalesce(s.verified, 0) AS verified, coalesce(s.foreigners, 0) AS foreigners, coalesce(s.settled, 0) AS settled,
  ARRAY(SELECT code FROM achievements_earned e WHERE e.agent_did = $1 ORDER BY code) AS codes,
  ARRAY(SELECT earned_at FROM achievements_earned e WHERE e.agent_did = $1 ORDER BY code) AS times,
  ARRAY(SELECT event_seq FROM achievements_earned e WHERE e.agent_did = $1 ORDER BY code) AS events
FROM agents_status($1) a (status) LEFT JOIN achievements_hidden h ON h.agent_did = $1
LEFT JOIN achievements_life l ON l.agent_did = $1 LEFT JOIN achievements_tally s ON s.agent_did = $1
WHERE a.status IS NOT NULL
"""


async def lock_progress(tx: Tx) -> int:
    """The last signal that is counted; no other transaction counts meanwhile."""
    counted: int = await tx.fetchval("SELECT counted FROM achievements_progress FOR UPDATE")
    return counted


async def set_progress(tx: Tx, counted: int) -> None:
    """The signals up to this one are counted."""
    await tx.execute("UPDATE achievements_progress SET counted = $1", counted)


async def tallies(tx: Tx, dids: Sequence[str]) -> dict[str, Tally]:
    """The tallies of those agents that have one, by DID."""
    rows = await tx.fetch(
        "SELECT agent_did, verified, foreigners, settled FROM achievements_tally WHERE agent_did = ANY ($1)",
        dids,
    )
    return {did: Tally(*counts) for did, *counts in rows}


async def write_tallies(tx: Tx, tallies: Mapping[str, Tally]) -> None:
    """Write the tallies of agents, by DID."""
    rows = [(did, one.verified, one.foreigners, one.settled) for did, one in sorted(tallies.items())]
    if rows:
        await tx.execute(_WRITE_STANDINGS, *map(list, zip(*rows, strict=True)))


async def add_earned(tx: Tx, earned: Sequence[tuple[str, Earned]]) -> None:
    """Write achievements of agents, unless they were earned before."""
    rows = [(did, one.code, one.earned_at, one.event_seq) for did, one in earned]
    if rows:
        await tx.execute(_ADD_EARNED, *map(list, zip(*rows, strict=True)))


async def begin_life(tx: Tx, did: str, at: datetime, event_seq: int) -> None:
    """Write the beginning of an agent, once."""
    await tx.execute(_BEGIN, did, at, event_seq)


async def end_life(tx: Tx, did: str, at: datetime) -> None:
    """Write the end of an agent, once."""
    await tx.execute(_END, did, at)


class Found(msgspec.Struct, frozen=True):
    """Facts of an agent as one statement reads them, with the time of the reading."""

    now: datetime
    is_shown: bool
    life: Life
    tally: Tally
    earned: tuple[Earned, ...]


async def read(tx: Tx, did: str) -> Found | None:
    """The facts of an agent; None: there is no such agent here."""
    row = await tx.fetchrow(_READ, did)
    if row is None:
        return None
    earned = zip(row["codes"], row["times"], row["events"], strict=True)
    return Found(
        row["now"],
        row["is_shown"],
        Life(row["began_at"], row["event_seq"], row["ended_at"]),
        Tally(row["verified"], row["foreigners"], row["settled"]),
        tuple(Earned(*one) for one in earned),
    )


async def set_shown(tx: Tx, did: str, *, is_shown: bool) -> None:
    """Write whether the achievements of an agent are shown."""
    if is_shown:
        await tx.execute("DELETE FROM achievements_hidden WHERE agent_did = $1", did)
    else:
        await tx.execute(
            "INSERT INTO achievements_hidden (agent_did) VALUES ($1) ON CONFLICT DO NOTHING", did
        )
