"""Running one job: under a lease with renewal, or in one transaction; writing the outcome of the attempt; the delay before a retry."""

import asyncio
import random
from functools import partial
from typing import Literal

import asyncpg
import msgspec
import structlog

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import jobs_failed_total, jobs_fenced_total
from hansa.foundation.values.errors import Unavailable

from . import store
from .kinds import GiveUp, Job, JobKind, LeasedKind, PutOff, Retries, TransactionalKind

RENEWALS_PER_LEASE = 3
CLAIM_TRIES = 3
# Of a kind that says itself when there is work, the job is due whenever it does not wait after a failure.
AT_ONCE = 0.0
_log = structlog.get_logger()

# Jobs that failed together are not all retried at one moment.
JITTER = 0.1
DOUBLINGS_MAX = 30
ERROR_MAX_CHARACTERS = 500


class _Attempt(msgspec.Struct):
    """One transaction of a transactional job; `job` is the one that it has locked."""

    kind: TransactionalKind
    runtime: Runtime
    job: Job | None = None

    async def run(self, tx: Tx) -> bool | None:
        self.job = job = await store.lock(tx, self.kind.name)
        if job is None:
            return None
        has_more = await self.kind.work(tx, self.runtime, job) is not False
        if self.kind.has_work is None:
            await store.finish(tx, job, self.kind.every_seconds)
        elif job.attempts > 1:
            await store.finish(tx, job, AT_ONCE)
        return has_more


async def run_in_transaction(runtime: Runtime, kind: TransactionalKind) -> bool | None:
    """Run the next due job of the kind; whether it may have more to do, None where no job is due that no other process has."""
    attempt = _Attempt(kind, runtime)
    try:
        has_more = await runtime.database.transaction(attempt.run, one_snapshot=kind.one_snapshot)
    except Exception as error:
        if attempt.job is None:
            raise
        await _note_failure(runtime, kind, attempt.job, error)
        return True
    if has_more is not None:
        runtime.jobs.succeeded(kind.name)
    return has_more


async def run_leased(runtime: Runtime, kind: LeasedKind, job: Job) -> None:
    """Run a claimed job and write its result, unless the lease was lost. Cancelled, it gives the lease back.

    Raises: Unavailable when the result cannot be written; the job comes back when its lease ends.
    """
    work = asyncio.ensure_future(kind.work(runtime, job))
    renewing = asyncio.create_task(_keep_lease(runtime, kind, job, work))
    try:
        await work
    except asyncio.CancelledError:
        if not _has_ended(renewing):
            await runtime.database.execute(lambda tx: store.release(tx, job))
            raise
        refused(job)
    except Exception as error:  # noqa: BLE001
        # Whatever the work raises is an attempt that failed: the job waits for the next one.
        await _note_failure(runtime, kind, job, error)
    else:
        if kind.concludes or await runtime.database.transaction(
            lambda tx: store.finish(tx, job, kind.every_seconds)
        ):
            runtime.jobs.succeeded(kind.name)
        else:
            refused(job)
    finally:
        renewing.cancel()


async def _keep_lease(runtime: Runtime, kind: LeasedKind, job: Job, work: "asyncio.Future[None]") -> None:
    """Renew the lease until it is lost; the work is then cancelled."""
    while True:
        await asyncio.sleep(kind.lease_seconds / RENEWALS_PER_LEASE)
        try:
            is_held = await runtime.database.execute(lambda tx: store.renew(tx, job, kind.lease_seconds))
        except Unavailable:
            # The lease may last until the next try; a result that comes too late is refused.
            continue
        if not is_held:
            work.cancel()
            return


async def claim(runtime: Runtime, kind: LeasedKind, most: int) -> list[Job]:
    """Lease jobs that are due; none when another process was quicker with the same concurrency keys."""
    for _ in range(CLAIM_TRIES):
        try:
            return await runtime.database.execute(
                lambda tx: store.claim(tx, kind.name, most, kind.lease_seconds)
            )
        except asyncpg.UniqueViolationError:
            # The next statement sees what the other process has leased.
            continue
    return []


def _has_ended(renewing: "asyncio.Task[None]") -> bool:
    """Return whether the lease was lost."""
    return renewing.done() and not renewing.cancelled() and renewing.exception() is None


async def _note_failure(runtime: Runtime, kind: JobKind, job: Job, failure: Exception) -> None:
    error = error_of(failure)
    pause = next_pause(kind.retries, job.attempts, failure)
    jobs_failed_total.labels(kind.name).inc()
    if not isinstance(failure, PutOff | GiveUp):
        runtime.jobs.failed(kind.name, failure)
    if pause is None and isinstance(kind, TransactionalKind) and kind.exhausted is not None:
        is_accepted = await runtime.database.transaction(partial(_exhaust, kind=kind, job=job, error=failure))
    elif pause is None:
        state = await runtime.database.transaction(lambda tx: store.bury(tx, job, error))
        if state == "dead":
            _log.error("job dead", job=kind.name, id=job.id, attempts=job.attempts, reason=error)
        is_accepted = state is not None
    else:
        seconds = pause
        is_accepted = await runtime.database.transaction(lambda tx: store.put_off(tx, job, seconds, error))
    if not is_accepted:
        refused(job)


async def _exhaust(tx: Tx, *, kind: TransactionalKind, job: Job, error: Exception) -> bool:
    assert kind.exhausted is not None
    if not await store.finish(tx, job, AT_ONCE):
        return False
    await kind.exhausted(tx, job, error)
    return True


def refused(job: Job) -> Literal[False]:
    """Note that a result came too late: another process has taken the job, or an operator has dropped it."""
    jobs_fenced_total.labels(job.kind).inc()
    _log.warning("job result discarded: its lease was lost", job=job.kind, id=job.id)
    return False


def pause_after(retries: Retries, attempts: int, jitter: float) -> float:
    """Seconds until a job that has failed `attempts` times in a row is retried; `jitter` is from -1 to 1."""
    doublings = min(max(attempts, 1) - 1, DOUBLINGS_MAX)
    return min(retries.pause_seconds * 2.0**doublings, retries.pause_max_seconds) * (1 + JITTER * jitter)


def next_pause(retries: Retries, attempts: int, error: BaseException) -> float | None:
    """Seconds until the next attempt; None when there is none."""
    is_last = retries.attempts_max is not None and attempts >= retries.attempts_max
    if is_last or isinstance(error, GiveUp):
        return None
    return pause_after(retries, attempts, random.uniform(-1, 1))  # noqa: S311


def error_of(error: BaseException) -> str:
    """Return the error text for operators: the reason of an expected failure; of any other its class alone, which holds no values."""
    if isinstance(error, PutOff | GiveUp):
        return str(error)[:ERROR_MAX_CHARACTERS]
    return type(error).__name__
