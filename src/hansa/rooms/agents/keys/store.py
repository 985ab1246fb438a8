"""The SQL of agents' keys. A rotation holds the agent's row, so keys follow each other without a gap or an overlap."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hansa.foundation.plumbing.storage.database import Tx

from .held_key import HeldKey

_PRESENT = """
SELECT k.public_key FROM agents_agent a JOIN agents_key k ON k.agent_id = a.id AND k.valid_until IS NULL
WHERE a.did = $1
"""

_HISTORY = """
SELECT number, public_key, valid_from, least(valid_until, a.revoked_at) AS valid_until
FROM agents_agent a JOIN agents_key k ON k.agent_id = a.id WHERE a.did = $1
ORDER BY number DESC LIMIT $2 OFFSET $3
"""

_SETTLED_AT = "SELECT date_trunc('minute', clock_timestamp() - $2::interval) FROM agents_agent WHERE did = $1"

_HISTORY_AS_OF = """
SELECT number, public_key, valid_from, CASE WHEN ends_at <= $2 THEN ends_at END AS valid_until
FROM agents_agent a JOIN agents_key k ON k.agent_id = a.id
CROSS JOIN LATERAL (SELECT least(k.valid_until, a.revoked_at)) AS ended (ends_at)
WHERE a.did = $1 AND k.valid_from <= $2 ORDER BY number DESC LIMIT $3
"""

_HISTORIES = """
SELECT asked.did, k.number, k.public_key, k.valid_from, least(k.valid_until, a.revoked_at) AS valid_until
FROM unnest($1::text[]) asked (did) JOIN agents_agent a ON a.did = asked.did CROSS JOIN LATERAL (
  SELECT number, public_key, valid_from, valid_until FROM agents_key WHERE agent_id = a.id ORDER BY number DESC LIMIT $2
) k ORDER BY k.number DESC
"""

_COUNT = "SELECT count(*) FROM agents_agent a JOIN agents_key k ON k.agent_id = a.id WHERE a.did = $1"

_HELD_BEFORE = "SELECT EXISTS (SELECT FROM agents_key WHERE agent_id = $1 AND public_key = $2)"

# The clock and not the time of the transaction, which may have begun before the rotation that it waited for.
_ROTATE = """
WITH ended AS (
  UPDATE agents_key SET valid_until = greatest(clock_timestamp(), valid_from + interval '1 microsecond')
  WHERE agent_id = $1 AND valid_until IS NULL RETURNING number, valid_until
)
INSERT INTO agents_key (agent_id, number, public_key, valid_from)
SELECT $1, number + 1, $2, valid_until FROM ended RETURNING number, public_key, valid_from, valid_until
"""


async def present_key(tx: Tx, did: str) -> bytes | None:
    """The present public key of an agent in any status, or None for an unknown DID."""
    key: bytes | None = await tx.fetchval(_PRESENT, did)
    return key


async def history(tx: Tx, did: str, *, limit: int, offset: int) -> list[HeldKey]:
    """A page of an agent's keys, the newest first; a revoked agent's last one ends with it."""
    return [HeldKey(**row) for row in await tx.fetch(_HISTORY, did, limit, offset)]


async def settled_at(tx: Tx, did: str, after: timedelta) -> datetime | None:
    """The minute that ended so long ago; None for an unknown DID."""
    as_of: datetime | None = await tx.fetchval(_SETTLED_AT, did, after)
    return as_of


async def history_as_of(tx: Tx, did: str, as_of: datetime, limit: int) -> list[HeldKey]:
    """The newest keys of an agent as they were at a time, the newest first."""
    return [HeldKey(**row) for row in await tx.fetch(_HISTORY_AS_OF, did, as_of, limit)]


async def histories(tx: Tx, dids: Sequence[str], limit: int) -> dict[str, list[HeldKey]]:
    """The newest keys of each of these agents, the newest first."""
    found: dict[str, list[HeldKey]] = {did: [] for did in dids}
    for row in await tx.fetch(_HISTORIES, dids, limit):
        members = dict(row)
        found[members.pop("did")].append(HeldKey(**members))
    return found


async def count_keys(tx: Tx, did: str) -> int:
    """How many keys the agent ever had; 0 for an unknown DID."""
    count: int = await tx.fetchval(_COUNT, did)
    return count


async def lock_agent(tx: Tx, did: str) -> int:
    """Hold an agent's row until the transaction ends; its id."""
    agent_id: int = await tx.fetchval("SELECT id FROM agents_agent WHERE did = $1 FOR NO KEY UPDATE", did)
    return agent_id


async def was_held(tx: Tx, agent_id: int, public_key: bytes) -> bool:
    """Return whether the agent has or had that key."""
    held: bool = await tx.fetchval(_HELD_BEFORE, agent_id, public_key)
    return held


async def rotate(tx: Tx, agent_id: int, public_key: bytes) -> HeldKey:
    """End the present key of a locked agent and begin the next at the same moment."""
    row = await tx.fetchrow(_ROTATE, agent_id, public_key)
    assert row is not None
    return HeldKey(**row)
