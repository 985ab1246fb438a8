"""Suspensions that the log of the registry proves: the status and the day, never the reason."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_object

VERSION = 1


async def record_statuses(tx: Tx, dids: Sequence[str], status: str, day: str) -> None:
    """Let the status of each of these agents become a leaf of the log."""
    for did in dids:
        members = {"kind": "suspension", "did": did, "status": status, "date": day, "version": VERSION}
        await record_object(tx, "suspension", did, members)
