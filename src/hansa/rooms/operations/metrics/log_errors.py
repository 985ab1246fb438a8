"""Figure of the log: entries of the level ERROR, counted in the commit that writes them."""

from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .counting import minute_of
from .records import Figures


async def add_log_errors(tx: Tx, did: str, at: datetime, entries: int) -> None:
    """Count entries of the level ERROR; the row of the log is locked before."""
    if entries:
        await store.add(tx, {(did, minute_of(at)): Figures(log_errors=entries)})
