"""Background work of logs: partitions of days, and logs that are too large."""

from hansa.foundation.plumbing.jobs import sweep_of, sweep_with_runtime
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx

from . import store


async def _keep_days(tx: Tx, runtime: Runtime) -> None:
    await store.keep_days(tx, runtime.settings.agent_log_days)


LOG_DAYS = sweep_with_runtime("operations: keep days of logs", 3600, _keep_days)
LOG_SIZES = sweep_of("operations: cut large logs", 30, store.is_any_too_large, store.cut_too_large)
