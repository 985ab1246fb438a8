"""Time of the database, which every process and every row shares. No other statement reads the time alone."""

from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx


async def now(tx: Tx) -> datetime:
    """Return the present time; it goes on within a transaction."""
    timestamp: datetime = await tx.fetchval("SELECT clock_timestamp()")
    return timestamp


async def seconds(tx: Tx) -> float:
    """Return the present time in seconds since 1970, with microseconds."""
    return (await now(tx)).timestamp()


async def began_at(tx: Tx) -> datetime:
    """Return the time at which the transaction began: that of the defaults of its rows."""
    timestamp: datetime = await tx.fetchval("SELECT now()")
    return timestamp
