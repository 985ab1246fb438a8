"""Measurements of a process, its disk and its database, taken for the metrics at intervals: no request changes them."""

import asyncio
import os
import platform

import hansa
from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.telemetry.metrics import (
    build_info,
    connections_max,
    database_primary,
    disk_free_bytes,
    disk_size_bytes,
    synchronous_replication,
    synchronous_standbys,
)
from hansa.foundation.values.errors import Unavailable

MEASURE_SECONDS = 15.0
FIRST_SECONDS = 0.1
"""Pause before the first measurement: a gauge that is not measured yet is 0."""

# A role without pg_read_all_stats sees the standbys without their state.
_DATABASE = """
SELECT current_setting('transaction_read_only') = 'off' AS is_primary,
  current_setting('synchronous_standby_names') <> '' AS is_synchronous,
  CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN
    (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) END AS standbys
"""


async def measure(runtime: Runtime) -> None:
    """Set the gauges of the process. A database out of reach is a result."""
    build_info.labels(hansa.__version__, platform.python_version()).set(1)
    connections_max.set(runtime.settings.database_pool_size)
    disk = await asyncio.to_thread(os.statvfs, runtime.settings.data_dir)
    disk_free_bytes.set(disk.f_bavail * disk.f_frsize)
    disk_size_bytes.set(disk.f_blocks * disk.f_frsize)
    try:
        row = await runtime.database.query_again(lambda tx: tx.fetchrow(_DATABASE))
    except Unavailable:
        database_primary.set(0)
        return
    assert row is not None
    database_primary.set(row["is_primary"])
    synchronous_replication.set(row["is_synchronous"])
    synchronous_standbys.set(float("nan") if row["standbys"] is None else row["standbys"])


MEASURE = PeriodicTask(
    "metrics: measure the process and its database", FIRST_SECONDS, measure, lambda _: MEASURE_SECONDS
)
