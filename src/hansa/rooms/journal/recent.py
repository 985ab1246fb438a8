"""The ring of the newest events, as the public sees them."""

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .audience import PRIVATE_TYPES, seen_by


async def recent_events(tx: Tx, *, limit: int, ring: int) -> tuple[list[StoredEvent], int]:
    """The newest `limit` events of a ring of `ring`, newest first, and how many the ring holds."""
    newest = await store.recent(tx, min(limit, ring), without=PRIVATE_TYPES)
    shown = [event for event in (seen_by(event, ()) for event in newest) if event is not None]
    return shown, await store.count_recent(tx, ring, without=PRIVATE_TYPES)
