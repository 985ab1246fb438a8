"""SQL statements of children.

Locks: the agent at the root of a tree, then the parent, then the child, each in `agents_agent`; the row of `agents_spawn` is written last.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from .rules import Cause, Child, Counted, NewChild, Place

_PLACE = """
SELECT s.root_did, s.depth, s.ending_at IS NOT NULL AS is_ending,
  floor(extract(epoch FROM s.expires_at - clock_timestamp()))::int AS seconds_left
FROM agents_spawn s WHERE s.did = $1
"""

_AGENT = """
SELECT did, status, roles, developer_id, organization_id, secret_seen_by, kind FROM agents_agent WHERE did = $1
"""

_WRITE_ROLES = "UPDATE agents_agent SET roles = $2::text[] WHERE did = $1"

_COUNTED = """
SELECT
  (SELECT count(*) FROM agents_spawn WHERE root_did = $1 AND ended_at IS NULL)::int AS living,
  count(*)::int AS in_minute,
  coalesce(ceil(extract(epoch FROM min(n.spawned_at) + interval '1 minute' - clock_timestamp())), 1)::int AS seconds
FROM (SELECT spawned_at FROM agents_spawn
  WHERE root_did = $1 AND spawned_at > clock_timestamp() - interval '1 minute'
  ORDER BY spawned_at DESC LIMIT $2) n
"""

_INSERT_CHILD = """
INSERT INTO agents_spawn (did, parent_did, root_did, depth, funding, spawned_at, expires_at, next_at)
SELECT $1, $2, $3, $4, $5, t.moment, t.ends, t.ends
FROM (SELECT m.moment, m.moment + make_interval(secs => $6) AS ends FROM (SELECT clock_timestamp() AS moment) m) t
RETURNING expires_at
"""

_INSERT_FORK = "INSERT INTO agents_spawn (did, root_did, depth) VALUES ($1, $2, 0)"

_CHILD = """
SELECT s.did, s.parent_did, s.root_did, s.depth, s.funding, s.spawned_at, s.expires_at, s.ending_at, s.cause, s.ended_at, s.swept,
  s.expires_at <= clock_timestamp() AS is_expired, a.name, a.status
FROM agents_spawn s JOIN agents_agent a USING (did) WHERE s.parent_did IS NOT NULL
"""

_CHILDREN = f"""
{_CHILD} AND s.parent_did = $1
  AND ($2::timestamptz IS NULL OR (s.spawned_at, s.did) < ($2, $3)) ORDER BY s.spawned_at DESC, s.did DESC LIMIT $4
"""

_LIVING_CHILDREN = """
SELECT did FROM agents_spawn WHERE parent_did = ANY($1) AND ended_at IS NULL ORDER BY did
"""

_LIVING_IN_TREES = """
SELECT s.did, s.depth, s.parent_did FROM agents_spawn s WHERE s.did = ANY($1) AND s.ended_at IS NULL AND s.parent_did IS NOT NULL
"""

_SUSPENDED_PARENT = """
SELECT EXISTS (SELECT FROM agents_spawn s JOIN agents_agent p ON p.did = s.parent_did
  WHERE s.did = $1 AND s.ended_at IS NULL AND p.status = 'suspended')
"""

_ANCESTORS = """
WITH RECURSIVE above AS (
  SELECT parent_did FROM agents_spawn WHERE did = $1 AND ended_at IS NULL AND parent_did IS NOT NULL
  UNION ALL
  SELECT s.parent_did FROM agents_spawn s JOIN above ON s.did = above.parent_did WHERE s.ended_at IS NULL AND s.parent_did IS NOT NULL
)
SELECT a.did, a.roles FROM above JOIN agents_agent a ON a.did = above.parent_did
"""

_ENDING_AMONG = "SELECT did FROM agents_spawn WHERE did = ANY($1) AND ending_at IS NOT NULL"

_BEGIN_END = """
UPDATE agents_spawn SET ending_at = clock_timestamp(), cause = $2, next_at = clock_timestamp()
WHERE did = $1 AND ending_at IS NULL AND ended_at IS NULL RETURNING true
"""

_END = "UPDATE agents_spawn SET ended_at = clock_timestamp() WHERE did = $1 AND ended_at IS NULL"

_NOTE_SWEPT = """
UPDATE agents_spawn SET swept = $2 WHERE did = $1 AND ended_at IS NOT NULL AND swept IS NULL RETURNING true
"""

# An end that waits for long is tried less often: after a tenth of the time that it waits, within 1 second and 5 minutes.
_PUT_OFF = """
UPDATE agents_spawn SET next_at = clock_timestamp()
  + greatest(interval '1 second', least(interval '5 minutes', (clock_timestamp() - coalesce(ending_at, expires_at)) / 10))
WHERE did = $1 AND ended_at IS NULL
"""

_DUE = "FROM agents_spawn WHERE ended_at IS NULL AND parent_did IS NOT NULL AND next_at <= clock_timestamp()"

HAS_DUE = Question(f"SELECT EXISTS (SELECT {_DUE})")
"""Question about ends of children that are due."""


class LockedAgent(msgspec.Struct, frozen=True):
    """An agent with its roles and its owner, as one that makes another is read."""

    did: str
    status: str
    roles: tuple[str, ...]
    developer_id: int
    organization_id: UUID | None
    secret_seen_by: int | None
    kind: str


class LivingChild(msgspec.Struct, frozen=True):
    """A living child, its depth and its parent."""

    did: str
    depth: int
    parent_did: str


async def place_of(tx: Tx, did: str) -> Place:
    """The place of an agent in its tree; one that nobody spawned is a root."""
    row = await tx.fetchrow(_PLACE, did)
    return Place(did, **row) if row else Place(did, did, 0, is_ending=False, seconds_left=None)


async def lock_agent(tx: Tx, did: str) -> LockedAgent | None:
    """An agent, locked until the transaction ends; None for an unknown DID."""
    return _agent(await tx.fetchrow(f"{_AGENT} FOR NO KEY UPDATE", did))


async def read_agent(tx: Tx, did: str) -> LockedAgent | None:
    """An agent as it is; takes no lock."""
    return _agent(await tx.fetchrow(_AGENT, did))


async def write_roles(tx: Tx, did: str, roles: Sequence[str]) -> None:
    """Write the roles of a locked agent."""
    await tx.execute(_WRITE_ROLES, did, list(roles))


async def counted(tx: Tx, root_did: str, per_minute: int) -> Counted:
    """The numbers of a tree whose root is locked; of its minute the newest `per_minute` are counted."""
    row = await tx.fetchrow(_COUNTED, root_did, per_minute)
    assert row is not None
    return Counted(**row)


async def insert_child(tx: Tx, place: Place, child: NewChild) -> datetime:
    """Write the child of an agent at this place; returns its end."""
    expires_at: datetime = await tx.fetchval(
        _INSERT_CHILD,
        child.did,
        place.did,
        place.root_did,
        place.depth + 1,
        child.funding,
        float(child.ttl_seconds),
    )
    return expires_at


async def insert_fork(tx: Tx, root_did: str, did: str) -> None:
    """Write a fork, which counts under the root."""
    await tx.execute(_INSERT_FORK, did, root_did)


async def find_child(tx: Tx, did: str) -> Child | None:
    """A child; takes no lock."""
    row = await tx.fetchrow(f"{_CHILD} AND s.did = $1", did)
    return Child(**row) if row else None


async def children(tx: Tx, did: str, after: Child | None, limit: int) -> list[Child]:
    """Children of an agent, newest first, those after this one."""
    place = (after.spawned_at, after.did) if after else (None, None)
    return [Child(**row) for row in await tx.fetch(_CHILDREN, did, *place, limit)]


async def living_children(tx: Tx, dids: Collection[str]) -> list[str]:
    """The living children of these agents, in the order of their DIDs."""
    return [row["did"] for row in await tx.fetch(_LIVING_CHILDREN, list(dids))]


async def living_among(tx: Tx, dids: Sequence[str]) -> dict[str, LivingChild]:
    """Those of the agents that are living children."""
    rows = await tx.fetch(_LIVING_IN_TREES, list(dids))
    return {row["did"]: LivingChild(**row) for row in rows}


async def has_suspended_parent(tx: Tx, did: str) -> bool:
    """Return whether the agent is a living child of a suspended one."""
    found: bool = await tx.fetchval(_SUSPENDED_PARENT, did)
    return found


async def ancestors(tx: Tx, did: str) -> dict[str, tuple[str, ...]]:
    """The agents above a living child, with their roles; none above another agent."""
    return {row["did"]: tuple(row["roles"]) for row in await tx.fetch(_ANCESTORS, did)}


async def ending_among(tx: Tx, dids: Collection[str]) -> frozenset[str]:
    """Those of the agents that are children whose end has begun."""
    return frozenset(row["did"] for row in await tx.fetch(_ENDING_AMONG, list(dids)))


async def begin_end(tx: Tx, did: str, cause: Cause) -> bool:
    """Let a living child begin to end; False when it has begun before."""
    return await tx.fetchval(_BEGIN_END, did, cause) is not None


async def end(tx: Tx, did: str) -> None:
    """Note that an agent has ended, if an agent made it."""
    await tx.execute(_END, did)


async def note_swept(tx: Tx, did: str, amount: Minor) -> None:
    """Note the units of an ended child that went to its parent."""
    noted = await tx.fetchval(_NOTE_SWEPT, did, amount)
    assert noted, "a child is swept once, in the commit of its end"


async def put_off(tx: Tx, did: str) -> None:
    """Let the end of a child be tried again after a while."""
    await tx.execute(_PUT_OFF, did)


async def first_due(tx: Tx) -> str | None:
    """The child whose end has been due longest; takes no lock."""
    did: str | None = await tx.fetchval(f"SELECT did {_DUE} ORDER BY next_at, did LIMIT 1")
    return did


def _agent(row: asyncpg.Record | None) -> LockedAgent | None:
    return LockedAgent(**{**row, "roles": tuple(row["roles"])}) if row else None
