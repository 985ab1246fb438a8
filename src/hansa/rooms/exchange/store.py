"""The SQL of listings. A state is left once, by one conditional UPDATE."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx

from .records import Activity, Decision, Listing, Terms

_TERMS = Terms.__struct_fields__
_COLUMNS = ", ".join(f"l.{name}" for name in Listing.__struct_fields__ if name != "now")
_SHOWN = f"{_COLUMNS}, clock_timestamp() AS now"

_INSERT = f"""
INSERT INTO exchange_listing AS l (ref, organization_id, treasury_did, {", ".join(_TERMS)})
VALUES ($1, $2, $3, {", ".join(f"${place}" for place in range(4, 4 + len(_TERMS)))})
ON CONFLICT DO NOTHING RETURNING {_SHOWN}
"""  # noqa: S608

_UPDATE = f"""
UPDATE exchange_listing AS l SET ({", ".join(_TERMS)}) = ({", ".join(f"${place}" for place in range(2, 2 + len(_TERMS)))})
WHERE l.ref = $1 AND l.status = 'DRAFT' RETURNING {_SHOWN}
"""  # noqa: S608

_FIND = f"SELECT {_SHOWN} FROM exchange_listing l WHERE l.ref = $1"  # noqa: S608

_LOCK = "SELECT FROM exchange_listing WHERE ref = $1 FOR NO KEY UPDATE"

_PUBLIC = "l.status NOT IN ('DRAFT', 'REVIEW')"

_LISTED = f"SELECT {_SHOWN} FROM exchange_listing l WHERE {_PUBLIC} ORDER BY l.ref LIMIT $1"  # noqa: S608

# Those that live stand before those that have ended.
_PAGE = f"""
SELECT {_SHOWN} FROM exchange_listing l WHERE {_PUBLIC}
ORDER BY l.status IN ('EXPIRED', 'DELISTED', 'FAILED'), l.ref LIMIT $1 OFFSET $2
"""  # noqa: S608

_IN_STATES = f"SELECT {_SHOWN} FROM exchange_listing l WHERE l.status = ANY ($1) ORDER BY l.ref LIMIT $2"  # noqa: S608

_OF_ORGANIZATION = f"""
SELECT {_SHOWN} FROM exchange_listing l WHERE l.organization_id = $1 ORDER BY l.created_at DESC, l.ref LIMIT $2
"""  # noqa: S608

_REVIEWED = f"SELECT {_SHOWN} FROM exchange_listing l WHERE l.status = 'REVIEW' ORDER BY l.ref LIMIT $1"  # noqa: S608

_MOVE = f"""
UPDATE exchange_listing AS l SET status = $3, decided_by = coalesce($4, l.decided_by), reason = CASE WHEN $4 IS NULL THEN l.reason ELSE $5 END,
  ended_at = CASE WHEN $3 IN ('EXPIRED', 'DELISTED', 'FAILED') THEN clock_timestamp() END
WHERE l.ref = $1 AND l.status = ANY ($2) RETURNING {_SHOWN}
"""  # noqa: S608

_APPROVE = f"""
UPDATE exchange_listing AS l SET status = 'APPROVED', fee_bps = $2, digest = $3, approved_at = clock_timestamp(), decided_by = $4, reason = $5
WHERE l.ref = $1 AND l.status = 'REVIEW' RETURNING {_SHOWN}
"""  # noqa: S608

_LOCK_NUMBER = "SELECT pg_advisory_xact_lock(hashtextextended('exchange: live listings', 0))"

_COUNT_LIVE = """
SELECT count(*) FROM exchange_listing WHERE status IN ('APPROVED', 'LAUNCHING', 'TRADING', 'HALTED')
"""

_LIVE_OF = f"""
SELECT {_SHOWN} FROM exchange_listing l
WHERE l.organization_id = $1 AND l.status NOT IN ('EXPIRED', 'DELISTED', 'FAILED')
"""  # noqa: S608

_INSIDERS = """
SELECT l.ref, coalesce(sum(h.qty), 0)::bigint AS points FROM exchange_listing l
CROSS JOIN LATERAL agents_related_to_organization(l.organization_id) insider (did)
JOIN exchange_holding h ON h.ref = l.ref AND h.agent_did = insider.did
WHERE l.ref = ANY ($1) AND l.sold > 0 GROUP BY l.ref
"""

_ACTIVITY = """
SELECT ref, traders, top_pair_bps FROM exchange_trade_counted WHERE ref = ANY ($1) AND traders > 0
"""

# Points of a listing whose term has ended are void, also where it was delisted before.
_BINDING = """
SELECT b.agent_did, sum(b.points)::bigint AS points FROM (
  SELECT h.agent_did, h.qty AS points FROM exchange_holding h JOIN exchange_revenue r ON r.ref = h.ref AND r.to_position IS NULL
  WHERE h.agent_did = ANY ($1) AND h.qty > 0
  UNION ALL
  SELECT s.agent_did, s.qty FROM exchange_subscription s WHERE s.agent_did = ANY ($1) AND s.settled_at IS NULL
) b GROUP BY b.agent_did
"""

# The side of the listing has issued what was sold less what was given up.
_POINT_GAPS = """
SELECT ref || ' ' || agent_did AS gap FROM (
  SELECT ref, agent_did, qty FROM exchange_holding
  UNION ALL SELECT ref, '', given_up - sold FROM exchange_listing WHERE sold > 0
) h FULL JOIN (
  SELECT ref, agent_did, sum(delta) AS qty FROM exchange_point_posting GROUP BY ref, agent_did
) p USING (ref, agent_did)
WHERE coalesce(h.qty, 0) <> coalesce(p.qty, 0) ORDER BY 1 LIMIT $1
"""


async def insert(tx: Tx, ref: str, organization_id: UUID, treasury_did: str, terms: Terms) -> Listing | None:
    """Write a draft; None where the reference was used, or the organization has a live listing."""
    row = await tx.fetchrow(_INSERT, ref, organization_id, treasury_did, *_values(terms))
    return None if row is None else _as_listing(row)


async def update(tx: Tx, ref: str, terms: Terms) -> Listing | None:
    """Write other terms of a draft; None where it is none."""
    row = await tx.fetchrow(_UPDATE, ref, *_values(terms))
    return None if row is None else _as_listing(row)


async def find(tx: Tx, ref: str) -> Listing | None:
    """One listing."""
    row = await tx.fetchrow(_FIND, ref)
    return None if row is None else _as_listing(row)


async def lock(tx: Tx, ref: str) -> Listing | None:
    """One listing, as it is once no other act has it."""
    await tx.execute(_LOCK, ref)
    return await find(tx, ref)


async def listed(tx: Tx, most: int) -> list[Listing]:
    """The first public listings, by their references."""
    return [_as_listing(row) for row in await tx.fetch(_LISTED, most)]


async def page(tx: Tx, limit: int, offset: int) -> list[Listing]:
    """Public listings, those that live before those that have ended."""
    return [_as_listing(row) for row in await tx.fetch(_PAGE, limit, offset)]


async def in_states(tx: Tx, states: Sequence[str], most: int) -> list[Listing]:
    """The first listings in these states, by their references."""
    return [_as_listing(row) for row in await tx.fetch(_IN_STATES, list(states), most)]


async def of_organization(tx: Tx, organization_id: UUID, most: int) -> list[Listing]:
    """The newest listings of an organization, in any state."""
    return [_as_listing(row) for row in await tx.fetch(_OF_ORGANIZATION, organization_id, most)]


async def reviewed(tx: Tx, most: int) -> list[Listing]:
    """The first listings under review, by their references."""
    return [_as_listing(row) for row in await tx.fetch(_REVIEWED, most)]


async def live_of(tx: Tx, organization_id: UUID) -> Listing | None:
    """The listing of an organization that has not ended."""
    row = await tx.fetchrow(_LIVE_OF, organization_id)
    return None if row is None else _as_listing(row)


async def move(
    tx: Tx, ref: str, allowed: tuple[str, ...], status: str, decision: Decision | None = None
) -> Listing | None:
    """Bring a listing from one of these states into another; None where it is in none of them."""
    by, reason = (decision.by, decision.reason) if decision else (None, None)
    row = await tx.fetchrow(_MOVE, ref, list(allowed), status, by, reason)
    return None if row is None else _as_listing(row)


async def approve(tx: Tx, ref: str, fee_bps: int, digest: bytes, decision: Decision) -> Listing | None:
    """Approve a listing under review, which fixes its terms; None where it is not under review."""
    row = await tx.fetchrow(_APPROVE, ref, fee_bps, digest, decision.by, decision.reason)
    return None if row is None else _as_listing(row)


async def count_live(tx: Tx) -> int:
    """Count the live listings; another approval waits until the transaction ends."""
    await tx.execute(_LOCK_NUMBER)
    count: int = await tx.fetchval(_COUNT_LIVE)
    return count


async def insider_points(tx: Tx, refs: list[str]) -> dict[str, int]:
    """Points of agents that are related to the organization, by listing."""
    return {row["ref"]: row["points"] for row in await tx.fetch(_INSIDERS, refs)}


async def activity_of(tx: Tx, refs: list[str]) -> dict[str, Activity]:
    """Numbers of the traders of these listings; a quiet listing is absent."""
    rows = await tx.fetch(_ACTIVITY, refs)
    return {row["ref"]: Activity(row["traders"], row["top_pair_bps"]) for row in rows}


async def binding(tx: Tx, dids: list[str]) -> dict[str, int]:
    """Points that these agents hold or have subscribed, by agent; one without any is absent."""
    return {row["agent_did"]: row["points"] for row in await tx.fetch(_BINDING, dids)}


async def point_gaps(tx: Tx, most: int) -> list[str]:
    """Listings and agents whose points are not the sum of their postings."""
    return [row["gap"] for row in await tx.fetch(_POINT_GAPS, most)]


def _values(terms: Terms) -> list[Any]:
    return [getattr(terms, name) for name in _TERMS]


def _as_listing(row: asyncpg.Record) -> Listing:
    return Listing(**row)
