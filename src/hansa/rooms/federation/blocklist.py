"""The blocklist: agents that the ledgers refuse, because their accounts are withheld."""

from collections.abc import Collection
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx

from . import blocklist_store


async def put_on_blocklist(tx: Tx, did: str, *, since: datetime | None) -> None:
    """List the agent as blocked since that moment; None takes it off the list."""
    if since is None:
        await blocklist_store.unblock(tx, did)
    else:
        await blocklist_store.block(tx, did, since)


async def is_blocklisted(tx: Tx, did: str) -> bool:
    """Return whether transfers to and from the agent are refused across frames."""
    return await blocklist_store.is_blocked(tx, did)


async def blocklisted_among(tx: Tx, dids: Collection[str]) -> frozenset[str]:
    """Return those of several DIDs that are blocklisted. See `is_blocklisted`."""
    return await blocklist_store.blocked_among(tx, dids)
