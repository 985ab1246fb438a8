"""The ring of the newest events."""

from hansa.foundation.plumbing.database import Tx

from . import store


async def recent_events(tx: Tx, *, limit: int, ring: int) -> tuple[list[store.StoredEvent], int]:
    """The newest `limit` events of a ring of `ring`, newest first, and how many the ring holds."""
    return await store.recent(tx, min(limit, ring)), await store.count_recent(tx, ring)
