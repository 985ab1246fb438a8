"""Every SQL statement of the blocklist."""

from collections.abc import Collection
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx


async def block(tx: Tx, did: str, since: datetime) -> None:
    """Put the agent on the list, or correct since when it is there."""
    await tx.execute(
        "INSERT INTO federation_blocklist (did, since) VALUES ($1, $2)"
        " ON CONFLICT (did) DO UPDATE SET since = excluded.since",
        did,
        since,
    )


async def unblock(tx: Tx, did: str) -> None:
    """Take the agent off the list, if it is there."""
    await tx.execute("DELETE FROM federation_blocklist WHERE did = $1", did)


async def is_blocked(tx: Tx, did: str) -> bool:
    """Return whether the agent is on the list."""
    blocked: bool = await tx.fetchval("SELECT EXISTS (SELECT FROM federation_blocklist WHERE did = $1)", did)
    return blocked


async def blocked_among(tx: Tx, dids: Collection[str]) -> frozenset[str]:
    """Those of the agents that are on the list."""
    rows = await tx.fetch("SELECT did FROM federation_blocklist WHERE did = ANY ($1)", list(dids))
    return frozenset(row["did"] for row in rows)
