"""Sessions of the registry's processes in its database, on any machine."""

from hansa.foundation.plumbing.storage.database import Tx

_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'hansa' AND pid <> pg_backend_pid()
"""


async def has_other_sessions(tx: Tx) -> bool:
    """Return whether another process of the registry is connected: one that serves has a session at all times."""
    count: int = await tx.fetchval(_OTHERS)
    return count > 0
