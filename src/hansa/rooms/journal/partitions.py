"""One partition of the log for each month, made ahead of time; events of a month without one are stored in the default partition."""

from hansa.foundation.plumbing.storage.database import Tx

from . import store

MONTHS_AHEAD = 3


async def keep_partitions_ahead(tx: Tx) -> None:
    """Make the partitions of this month and the next ones, where they are missing."""
    for months in range(MONTHS_AHEAD + 1):
        await store.add_month(tx, months)
