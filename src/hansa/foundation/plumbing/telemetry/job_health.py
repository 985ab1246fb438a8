"""Health of the background jobs of one process: which job fails, since when, and how long it waits before its next try.

- A job that fails waits longer after each failure, up to a limit; while the database is away it keeps its usual interval, or a
  shorter one where that is long.
- One log line when a job begins to fail or fails for another reason, and one when it recovers.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec
import structlog
from msgspec.structs import replace

from hansa.foundation.plumbing.telemetry.metrics import job_failing, job_failures_total
from hansa.foundation.values.errors import Unavailable

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
DATABASE_AWAY_SECONDS = 5.0
"""Pause of rare work whose last try met no database: it is tried again soon after the database is back."""

_log = structlog.get_logger()


class FailingJob(msgspec.Struct, frozen=True):
    """A job whose last try failed; `error` is the class of the error, which holds no values."""

    name: str
    since: datetime
    failures: int
    error: str


class Waiting(msgspec.Struct, frozen=True):
    """How many entries of a queue wait for a job; `oldest_seconds` is None when nothing does."""

    count: int
    oldest_seconds: float | None


class OutsideTrouble(Exception):
    """The cause of the failure lies outside this process, and the message says all of it: it is logged in one line."""


class JobHealth:
    """Outcome of the last tries of each job of this process."""

    def __init__(self) -> None:
        self._failing: dict[str, FailingJob] = {}
        self._without_database: set[str] = set()

    def failing(self) -> list[FailingJob]:
        """The jobs whose last try failed, by name."""
        return sorted(self._failing.values(), key=lambda job: job.name)

    async def attempt(self, name: str, work: Callable[[], Awaitable[object]]) -> float:
        """Run a job once. Returns how many seconds it must wait at least before its next try; raises nothing but its cancellation.

        A result of False means that the job had nothing to try, because another process was at it.
        """
        try:
            result = await work()
        except Exception as error:  # noqa: BLE001
            # A job fails alone: neither the others nor the service end with it.
            return self.failed(name, error)
        if result is not False:
            self.succeeded(name)
        return 0.0

    def interval(self, name: str, seconds: float) -> float:
        """The seconds until the next try of work that is usually done this often."""
        return min(seconds, DATABASE_AWAY_SECONDS) if name in self._without_database else seconds

    def succeeded(self, name: str) -> None:
        """Note that the job's last try succeeded."""
        self._without_database.discard(name)
        if (job := self._failing.pop(name, None)) is not None:
            job_failing.labels(name).set(0)
            _log.warning("job recovered", job=name, failures=job.failures, failed_since=job.since.isoformat())

    def failed(self, name: str, failure: BaseException, **details: object) -> float:
        """Note that a try failed, logged with `details`. Returns how many seconds the job must wait at least before the next one."""
        error = type(failure).__name__
        job = self._failing.get(name) or FailingJob(name, datetime.now(UTC), 0, "")
        if job.error != error:
            _log_failure(name, failure, details)
        self._failing[name] = job = replace(job, failures=job.failures + 1, error=error)
        job_failing.labels(name).set(1)
        job_failures_total.labels(name).inc()
        if isinstance(failure, Unavailable):
            self._without_database.add(name)
            return 0.0
        self._without_database.discard(name)
        return pause_after(job.failures)


def pause_after(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_SECONDS)


def _log_failure(name: str, failure: BaseException, details: dict[str, object]) -> None:
    if isinstance(failure, Unavailable):
        _log.warning("job waits for the database", job=name, reason=failure.detail, **details)
    elif isinstance(failure, OutsideTrouble):
        _log.warning(
            "job failed; its next failures of this kind are not logged",
            job=name,
            reason=str(failure),
            **details,
        )
    else:
        _log.error(
            "job failed; its next failures of this kind are not logged", job=name, exc_info=failure, **details
        )
