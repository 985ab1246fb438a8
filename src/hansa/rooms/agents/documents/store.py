"""The SQL of identity documents: an agent with its keys."""

from hansa.foundation.plumbing.storage.database import Tx

from .records import ListedKey

KEYS_LISTED = 100

_KEYS = """
SELECT a.status, k.number, k.public_key, least(k.valid_until, a.revoked_at) AS ended_at
FROM agents_agent a LEFT JOIN agents_key k ON k.agent_id = a.id WHERE a.did = $1 ORDER BY k.number DESC LIMIT $2
"""


async def status_and_keys(tx: Tx, did: str) -> tuple[str, tuple[ListedKey, ...]] | None:
    """An agent's status and its newest keys, the newest first, or None for an unknown DID."""
    rows = await tx.fetch(_KEYS, did, KEYS_LISTED)
    if not rows:
        return None
    keys = tuple(
        ListedKey(row["number"], row["public_key"], row["ended_at"])
        for row in rows
        if row["number"] is not None
    )
    return rows[0]["status"], keys
