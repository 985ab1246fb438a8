"""Every SQL statement of governance.

Locks: the accounts of voters in id order (`ledger.lock_stakes`), then proposals in id order. Who proposes locks the account, then
the name of the owner. A tally, and what administrators decide, lock the proposal alone. A release of a stake locks the account
and reads the pins without a lock: votes of the account wait for it, and a tally only takes pins away.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.foundation.values.money import Minor

from .records import Ballot, Execution, Kind, NewProposal, Opening, Power, Proposal, Status, Vote

_COLUMNS = """
p.id, p.proposer_did, p.owner, p.kind, p.title, p.description, p.policy_diff, p.status, p.execution, p.created_at,
p.snapshot_at, p.ends_at, p.is_extended, p.votes_for, p.votes_against, p.votes_abstain, p.total_voters, p.eligible_weight,
p.quorum_weight, p.ended_at, p.effective_at, p.decided_by, p.reason
"""

_INSERT = f"""
INSERT INTO governance_proposal AS p (proposer_did, owner, kind, title, description, policy_diff, created_at, snapshot_at,
  ends_at, eligible_weight, quorum_weight)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING {_COLUMNS}
"""  # noqa: S608

_LOCK_OWNER = "SELECT pg_advisory_xact_lock(hashtextextended('governance: owner ' || $1, 0))"

_FIND = f"SELECT {_COLUMNS} FROM governance_proposal p WHERE p.id = $1"  # noqa: S608

_LOCK = f"SELECT {_COLUMNS} FROM governance_proposal p WHERE p.id = ANY ($1) ORDER BY p.id FOR NO KEY UPDATE"  # noqa: S608

_LISTED = "FROM governance_proposal p WHERE ($1 OR p.status = 'OPEN')"

_PAGE = with_total(
    f"SELECT {_COLUMNS} {_LISTED} ORDER BY p.id DESC LIMIT $2 OFFSET $3",
    f"SELECT count(*) {_LISTED}",
)

_VOTE = "v.id, v.proposal_id, v.voter_did, v.vote, v.weight, v.reason, v.created_at"

_PAGE_OF_VOTES = with_total(
    f"SELECT {_VOTE} FROM governance_vote v WHERE v.proposal_id = $1 ORDER BY v.id DESC LIMIT $2 OFFSET $3",  # noqa: S608
    "SELECT total_voters FROM governance_proposal WHERE id = $1",
)

_VOTE_OF = f"SELECT {_VOTE} FROM governance_vote v WHERE v.proposal_id = $1 AND v.voter_did = $2"  # noqa: S608

_UNDECIDED = f"""
SELECT {_COLUMNS} FROM governance_proposal p WHERE p.status = 'OPEN' OR p.execution IN ('AWAITING', 'QUEUED')
ORDER BY p.status = 'OPEN', p.id LIMIT $1
"""  # noqa: S608

_VOTED = """
SELECT v.proposal_id, v.voter_did FROM governance_vote v
JOIN unnest($1::bigint[], $2::text[]) AS b (proposal_id, voter_did) USING (proposal_id, voter_did)
"""

_INSERT_VOTES = f"""
INSERT INTO governance_vote AS v (proposal_id, voter_did, vote, weight, reason, created_at)
SELECT b.*, $6 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[])
  AS b (proposal_id, voter_did, vote, weight, reason)
RETURNING {_VOTE}
"""  # noqa: S608

_COUNT = """
UPDATE governance_proposal p SET votes_for = c.votes_for, votes_against = c.votes_against, votes_abstain = c.votes_abstain,
  total_voters = c.total_voters, ends_at = c.ends_at, is_extended = c.is_extended
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::int[], $6::timestamptz[], $7::boolean[])
  AS c (id, votes_for, votes_against, votes_abstain, total_voters, ends_at, is_extended)
WHERE p.id = c.id AND p.status = 'OPEN' RETURNING p.id
"""

_END = f"""
UPDATE governance_proposal p SET status = $2, execution = $3, ended_at = clock_timestamp(), decided_by = $4, reason = $5
WHERE p.id = $1 AND p.status = 'OPEN' RETURNING {_COLUMNS}
"""  # noqa: S608

_EXECUTE = f"""
UPDATE governance_proposal p SET execution = $3, effective_at = coalesce($4, p.effective_at),
  decided_by = coalesce($5, p.decided_by), reason = coalesce($6, p.reason)
WHERE p.id = $1 AND p.execution = $2 RETURNING {_COLUMNS}
"""  # noqa: S608

_HAVE_OTHERS_VOTED = """
SELECT EXISTS (SELECT FROM governance_vote WHERE proposal_id = $1 AND voter_did <> $2)
"""

_PINS = "FROM governance_vote v JOIN governance_proposal p ON p.id = v.proposal_id AND p.status = 'OPEN' WHERE v.voter_did = $1"

_PINNED_UNTIL = f"SELECT max(p.ends_at) {_PINS} AND v.weight > $2"

_POWER = f"SELECT coalesce(max(v.weight), 0)::bigint AS pinned, max(p.ends_at) AS pinned_until {_PINS}"

_QUEUED_WITH = f"""
SELECT {_COLUMNS} FROM governance_proposal p WHERE p.execution = 'QUEUED' AND p.policy_diff ? $1 ORDER BY p.id FOR NO KEY UPDATE
"""  # noqa: S608

_GAPS = """
SELECT format('proposal %s: sums %s, votes %s', p.id, row(p.votes_for, p.votes_against, p.votes_abstain, p.total_voters)::text,
  row(v.votes_for, v.votes_against, v.votes_abstain, v.total_voters)::text)
FROM governance_proposal p CROSS JOIN LATERAL (
  SELECT coalesce(sum(weight) FILTER (WHERE vote = 'for'), 0)::bigint AS votes_for,
    coalesce(sum(weight) FILTER (WHERE vote = 'against'), 0)::bigint AS votes_against,
    coalesce(sum(weight) FILTER (WHERE vote = 'abstain'), 0)::bigint AS votes_abstain, count(*)::int AS total_voters
  FROM governance_vote WHERE proposal_id = p.id
) v
WHERE ($1 OR p.ended_at IS NULL OR p.ended_at > now() - interval '1 hour')
  AND (p.votes_for, p.votes_against, p.votes_abstain, p.total_voters)
    IS DISTINCT FROM (v.votes_for, v.votes_against, v.votes_abstain, v.total_voters)
ORDER BY p.id LIMIT $2
"""

_PINS_OF_OPEN = """
SELECT v.voter_did, max(v.weight)::bigint AS pinned
FROM governance_proposal p JOIN governance_vote v ON v.proposal_id = p.id WHERE p.status = 'OPEN' GROUP BY v.voter_did
"""


async def lock_owner(tx: Tx, owner: str) -> None:
    """Let proposals of one owner follow each other."""
    await tx.execute(_LOCK_OWNER, owner)


async def open_kinds_of(tx: Tx, owner: str) -> list[Kind]:
    """The kinds of the open proposals of an owner."""
    rows = await tx.fetch("SELECT kind FROM governance_proposal WHERE owner = $1 AND status = 'OPEN'", owner)
    return [row["kind"] for row in rows]


async def insert(tx: Tx, new: NewProposal, opening: Opening) -> Proposal:
    """Write an open proposal."""
    row = await tx.fetchrow(
        _INSERT,
        opening.proposer_did,
        opening.owner,
        new.kind,
        new.title,
        new.description,
        None if opening.policy_diff is None else json.dumps(opening.policy_diff),
        opening.created_at,
        opening.snapshot_at,
        opening.ends_at,
        opening.eligible_weight,
        opening.quorum_weight,
    )
    assert row is not None
    return _proposal(row)


async def find(tx: Tx, proposal_id: int) -> Proposal | None:
    """One proposal."""
    row = await tx.fetchrow(_FIND, proposal_id)
    return None if row is None else _proposal(row)


async def lock(tx: Tx, proposal_ids: Sequence[int]) -> dict[int, Proposal]:
    """The proposals, locked in id order until the transaction ends."""
    return {row["id"]: _proposal(row) for row in await tx.fetch(_LOCK, proposal_ids)}


async def snapshots_of(tx: Tx, proposal_ids: Sequence[int]) -> dict[int, datetime]:
    """The moments whose stakes have weight, which never change."""
    rows = await tx.fetch("SELECT id, snapshot_at FROM governance_proposal WHERE id = ANY ($1)", proposal_ids)
    return {row["id"]: row["snapshot_at"] for row in rows}


async def page(tx: Tx, *, with_closed: bool, limit: int, offset: int) -> tuple[list[Proposal], int]:
    """A page of the proposals, the newest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE, with_closed, limit, offset)
    return [_proposal(row) for row in rows], total


async def page_of_votes(
    tx: Tx, proposal_id: int, *, limit: int, offset: int
) -> tuple[list[Vote], int] | None:
    """A page of the votes on a proposal, the newest first, and how many there are; None for an unknown proposal."""
    rows = [dict(row) for row in await tx.fetch(_PAGE_OF_VOTES, proposal_id, limit, offset)]
    if not rows:
        return None
    totals = [row.pop("entries_in_all") for row in rows]
    return [Vote(**row) for row in rows if row["id"] is not None], totals[0]


async def vote_of(tx: Tx, proposal_id: int, did: str) -> Vote | None:
    """The vote of an agent on a proposal."""
    row = await tx.fetchrow(_VOTE_OF, proposal_id, did)
    return None if row is None else Vote(**row)


async def undecided(tx: Tx, most: int) -> list[Proposal]:
    """Passed changes that wait or are scheduled, then open proposals, the oldest first."""
    return [_proposal(row) for row in await tx.fetch(_UNDECIDED, most)]


async def voted(tx: Tx, ballots: Sequence[Ballot]) -> set[tuple[int, str]]:
    """Proposal and voter of those of the ballots that were cast before."""
    rows = await tx.fetch(_VOTED, [one.proposal_id for one in ballots], [one.voter_did for one in ballots])
    return {(row["proposal_id"], row["voter_did"]) for row in rows}


async def insert_votes(
    tx: Tx, ballots: Sequence[tuple[Ballot, Minor]], now: datetime
) -> dict[tuple[int, str], Vote]:
    """Write votes with their weights on locked proposals; returns them by proposal and voter."""
    rows = await tx.fetch(
        _INSERT_VOTES,
        [one.proposal_id for one, _ in ballots],
        [one.voter_did for one, _ in ballots],
        [one.vote for one, _ in ballots],
        [weight for _, weight in ballots],
        [one.reason for one, _ in ballots],
        now,
    )
    return {(row["proposal_id"], row["voter_did"]): Vote(**row) for row in rows}


async def write_sums(tx: Tx, proposals: Sequence[Proposal]) -> None:
    """Write the sums and the ends of locked, open proposals."""
    written = await tx.fetch(
        _COUNT,
        [one.id for one in proposals],
        [one.votes_for for one in proposals],
        [one.votes_against for one in proposals],
        [one.votes_abstain for one in proposals],
        [one.total_voters for one in proposals],
        [one.ends_at for one in proposals],
        [one.is_extended for one in proposals],
    )
    assert len(written) == len(proposals), "a locked proposal is open as it was judged"


async def end(
    tx: Tx,
    proposal_id: int,
    status: Status,
    execution: Execution | None = None,
    *,
    by: str | None = None,
    reason: str | None = None,
) -> Proposal | None:
    """End the vote on a proposal; None when it has ended."""
    row = await tx.fetchrow(_END, proposal_id, status, execution, by, reason)
    return None if row is None else _proposal(row)


async def execute(
    tx: Tx,
    proposal_id: int,
    before: Execution,
    after: Execution,
    *,
    effective_at: datetime | None = None,
    by: str | None = None,
    reason: str | None = None,
) -> Proposal | None:
    """Move the execution of a passed change on; None when it is not `before`."""
    row = await tx.fetchrow(_EXECUTE, proposal_id, before, after, effective_at, by, reason)
    return None if row is None else _proposal(row)


async def have_others_voted(tx: Tx, proposal_id: int, did: str) -> bool:
    """Return whether another agent has voted."""
    found: bool = await tx.fetchval(_HAVE_OTHERS_VOTED, proposal_id, did)
    return found


async def pinned_until(tx: Tx, did: str, left: Minor) -> datetime | None:
    """The end of the last open proposal on which the agent voted with more than `left`, or None."""
    until: datetime | None = await tx.fetchval(_PINNED_UNTIL, did, left)
    return until


async def power_of(tx: Tx, did: str, staked: Minor) -> Power:
    """The largest pin of the agent, and the end of the last."""
    row = await tx.fetchrow(_POWER, did)
    assert row is not None
    return Power(staked, Minor(row["pinned"]), row["pinned_until"])


async def lock_queued_with(tx: Tx, name: str) -> list[Proposal]:
    """The changes that wait for their moment and have this name, locked."""
    return [_proposal(row) for row in await tx.fetch(_QUEUED_WITH, name)]


async def gaps(tx: Tx, *, is_whole: bool, most: int) -> list[str]:
    """The proposals whose sums are not those of their votes: of all, or of the open ones and those that ended within an hour."""
    return [row["format"] for row in await tx.fetch(_GAPS, is_whole, most)]


async def pins_of_open(tx: Tx) -> dict[str, Minor]:
    """The largest pin of each agent that voted on an open proposal."""
    return {row["voter_did"]: Minor(row["pinned"]) for row in await tx.fetch(_PINS_OF_OPEN)}


def _proposal(row: asyncpg.Record | dict[str, Any]) -> Proposal:
    members = dict(row)
    if members["policy_diff"] is not None:
        members["policy_diff"] = json.loads(members["policy_diff"])
    return Proposal(**members)
