"""SQL statements of genesis grants, which a developer's first agent receives once.

Locks: a developer's only grant is claimed by one INSERT on its key; of two at once the second waits for the first to commit, then
finds nothing left. The claim comes before the ledger is touched, so the treasury is always locked last.
"""

import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

_CLAIM_GRANT = """
INSERT INTO agents_genesis_grant (developer_id, agent_id) VALUES ($1, $2)
ON CONFLICT (developer_id) DO NOTHING RETURNING 1
"""

_OWED = """FROM agents_genesis_grant g JOIN agents_agent a ON a.id = g.agent_id
WHERE g.owed IS NOT NULL AND a.status = 'active' AND (g.due_at <= clock_timestamp()) IS NOT FALSE"""

HAS_OWED_GRANT = Question(f"SELECT EXISTS (SELECT {_OWED})")
"""Question: is a grant owed to an active agent, and due?"""

_LOCK_GRANT_PLACES = "SELECT FROM agents_grant_places FOR UPDATE"

# An hour after the grant of the same site that is so many places before it; at once where there is none.
_PLACE_GRANT = """
WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS now), place AS (SELECT m.now, greatest(m.now,
  (SELECT g.due_at FROM agents_genesis_grant g WHERE g.site = $2 ORDER BY g.due_at DESC OFFSET $3 - 1 LIMIT 1)
    + interval '1 hour') AS due_at FROM moment m)
UPDATE agents_genesis_grant g SET site = $2, due_at = place.due_at FROM place WHERE g.developer_id = $1
RETURNING place.due_at <= place.now
"""

_GRANTS_OF_THE_HOUR = """
SELECT count(*) FROM agents_genesis_grant WHERE paid_at > clock_timestamp() - interval '1 hour'
"""

_FORGET_SITES = """
UPDATE agents_genesis_grant SET site = NULL WHERE site IS NOT NULL AND due_at < clock_timestamp() - interval '1 hour'
"""

_LOCK_OWED_GRANT = f"""
SELECT g.developer_id, a.did, g.owed AS amount {_OWED}
ORDER BY g.claimed_at, g.developer_id LIMIT 1 FOR NO KEY UPDATE OF g, a SKIP LOCKED
"""

_SETTLE_GRANT = """
UPDATE agents_genesis_grant SET owed = NULL, paid_at = clock_timestamp()
WHERE developer_id = $1 AND paid_at IS NULL RETURNING true
"""


class OwedGrant(msgspec.Struct, frozen=True):
    """A genesis grant that the treasury has not paid yet; `amount` in minor units."""

    developer_id: int
    did: str
    amount: Minor


async def claim_grant(tx: Tx, developer_id: int, agent_id: int) -> bool:
    """Make this the developer's first agent; False when it has one."""
    return await tx.fetchval(_CLAIM_GRANT, developer_id, agent_id) is not None


async def lock_grant_places(tx: Tx) -> None:
    """Let no other transaction give a grant its moment or pay one, until this one ends: no hour has more than it may have."""
    await tx.execute(_LOCK_GRANT_PLACES)


async def place_grant(tx: Tx, developer_id: int, site: str, per_site: int) -> bool:
    """Give a claimed grant the moment at which it is due, under the lock of the places; whether that is now."""
    return bool(await tx.fetchval(_PLACE_GRANT, developer_id, site, per_site))


async def grants_of_the_hour(tx: Tx) -> int:
    """How many grants were paid in the last hour; exact under the lock of the places."""
    paid: int = await tx.fetchval(_GRANTS_OF_THE_HOUR)
    return paid


async def forget_sites(tx: Tx) -> None:
    """Delete the sites of grants that were due more than an hour ago."""
    await tx.execute(_FORGET_SITES)


async def owe_grant(tx: Tx, developer_id: int, amount: Minor) -> None:
    """Note that the treasury owes the developer's first agent its grant."""
    await tx.execute(
        "UPDATE agents_genesis_grant SET owed = $2 WHERE developer_id = $1", developer_id, amount
    )


async def lock_owed_grant(tx: Tx) -> OwedGrant | None:
    """The oldest grant owed to an active agent; claim and agent stay locked until the transaction ends."""
    row = await tx.fetchrow(_LOCK_OWED_GRANT)
    return OwedGrant(**row) if row else None


async def settle_grant(tx: Tx, developer_id: int) -> None:
    """Note that a claimed grant was paid."""
    settled = await tx.fetchval(_SETTLE_GRANT, developer_id)
    assert settled, "a grant was paid by another transaction"
