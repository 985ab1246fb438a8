"""Close tickets that have been resolved for seven days, each with its event."""

from hansa.foundation.plumbing.jobs import sweep_of
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .moving import move

EVERY_SECONDS = 300


async def close_resolved(tx: Tx) -> None:
    """Close a batch of the tickets that are due."""
    for ticket_id in await store.lock_due(tx):
        ticket = await store.find(tx, ticket_id)
        assert ticket is not None, "a locked ticket is not deleted"
        await move(tx, ticket, "closed", "registry")


CLOSE_RESOLVED = sweep_of("support: close resolved tickets", EVERY_SECONDS, store.HAS_DUE, close_resolved)
