"""Record of the newest backup and of the last attempt that failed: `hansa doctor` and `/metrics` show its age."""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

FAILURE_MAX_CHARACTERS = 500

# A backup that began earlier may end later.
_RECORD_BACKUP = """
INSERT INTO plumbing_backup AS b (taken_at) VALUES ($1)
ON CONFLICT (is_only) DO UPDATE SET taken_at = greatest(b.taken_at, excluded.taken_at)
"""

_RECORD_FAILURE = """
INSERT INTO plumbing_backup (failed_at, failure) VALUES (clock_timestamp(), $1)
ON CONFLICT (is_only) DO UPDATE SET failed_at = excluded.failed_at, failure = excluded.failure
"""

_READ = """
SELECT b.taken_at, extract(epoch FROM clock_timestamp() - coalesce(b.taken_at, c.recorded_at))::float8 AS age_seconds,
  b.failed_at, b.failure
FROM plumbing_cluster c LEFT JOIN plumbing_backup b ON true
"""


class BackupRecord(msgspec.Struct, frozen=True):
    """Newest backup; without any, the age is that of the registry in this database. `failure` is the reason of the last failed attempt."""

    taken_at: datetime | None
    age_seconds: float
    failed_at: datetime | None
    failure: str | None

    @property
    def last_failed(self) -> bool:
        """Return whether the last attempt failed."""
        return self.failed_at is not None and (self.taken_at is None or self.taken_at < self.failed_at)


async def record_backup(tx: Tx, taken_at: datetime) -> None:
    """Record a whole backup of the database as of `taken_at`."""
    await tx.execute(_RECORD_BACKUP, taken_at)


async def record_failed_backup(tx: Tx, reason: str) -> None:
    """Record an attempt that wrote no whole backup."""
    await tx.execute(_RECORD_FAILURE, reason[:FAILURE_MAX_CHARACTERS])


async def read_backup_record(tx: Tx) -> BackupRecord | None:
    """The record; None in a database that no process has served."""
    row = await tx.fetchrow(_READ)
    return BackupRecord(**row) if row else None
