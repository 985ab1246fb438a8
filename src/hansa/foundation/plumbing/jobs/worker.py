"""The worker of one process: starts due jobs, waits for a notification or the next due time, drains at the end.

- What is due is found by one reading statement; nothing is written while there is nothing to do.
- A kind runs so many jobs at once in a process as it says, all kinds together AT_ONCE; transactional ones, each of which
  holds a connection, TRANSACTIONS_AT_ONCE.
- Cancelled, it starts nothing more, lets what runs end for DRAIN_SECONDS, then cancels it and gives the leases back.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

import structlog

from hansa.foundation.plumbing.metrics import jobs_dead, jobs_due, jobs_oldest_seconds, jobs_running
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.errors import Unavailable

from . import store
from .kinds import SCHEDULE, JobKind, LeasedKind, TransactionalKind
from .notifications import wake_at_notifications
from .running import claim, run_in_transaction, run_leased

AT_ONCE = 64
TRANSACTIONS_AT_ONCE = 6
LOOK_AGAIN_SECONDS = 5.0
RECONNECT_SECONDS = 1.0
# A job that is due but locked is another process's.
LOCKED_ELSEWHERE_SECONDS = 0.5
# Jobs that are enqueued together are started together.
GATHERING_SECONDS = 0.002
MEASURE_SECONDS = 15.0
DRAIN_SECONDS = 6.0
WORKER = "jobs: start what is due"

_log = structlog.get_logger()


async def run_jobs(runtime: Runtime, kinds: Sequence[JobKind]) -> None:
    """Run jobs of these kinds until cancelled."""
    await Worker(runtime, kinds).run()


class Worker:
    """The jobs that one process runs."""

    def __init__(self, runtime: Runtime, kinds: Sequence[JobKind]) -> None:
        self._runtime = runtime
        self._kinds = {kind.name: kind for kind in kinds}
        self._running: dict[asyncio.Task[None], str] = {}
        self._counts: Counter[str] = Counter()
        self._not_before: dict[str, float] = {}
        self._transactions = asyncio.Semaphore(TRANSACTIONS_AT_ONCE)
        self._wake = asyncio.Event()
        self._measure_at = 0.0
        self._next_in = 0.0
        self._is_settled = False

    async def run(self) -> None:
        """Run until cancelled; then drain."""
        listening = asyncio.create_task(
            wake_at_notifications(self._runtime.database.dsn, self._wake, self._runtime.jobs)
        )
        try:
            while True:
                self._next_in = RECONNECT_SECONDS
                pause = await self._runtime.jobs.attempt(WORKER, self._turn)
                await asyncio.sleep(max(pause, GATHERING_SECONDS))
                await self._wait(self._next_in)
        finally:
            listening.cancel()
            await self._drain()

    async def _turn(self) -> None:
        """Start what is due, and note in how many seconds there may be more."""
        self._wake.clear()
        if not self._is_settled:
            await self._settle_schedules()
            self._is_settled = True
        self._next_in = min(await self._start_due(), LOOK_AGAIN_SECONDS)
        await self._measure()

    async def _settle_schedules(self) -> None:
        scheduled = {one.name: one.every_seconds for one in self._kinds.values() if one.every_seconds}
        await self._runtime.database.act(lambda tx: store.settle_schedules(tx, scheduled, SCHEDULE))

    async def _start_due(self) -> float:
        """Start what is due and has room; returns in how many seconds there may be more."""
        now = monotonic()
        room = AT_ONCE - len(self._running)
        asked = [
            name
            for name, kind in self._kinds.items()
            if self._counts[name] < kind.at_once and self._not_before.get(name, 0.0) <= now
        ]
        if room <= 0 or not asked:
            return LOOK_AGAIN_SECONDS
        due = await self._runtime.database.look(lambda tx: store.next_due(tx, asked))
        later = [in_seconds for in_seconds in due.values() if in_seconds > 0]
        later += [at - now for name, at in self._not_before.items() if at > now and name in self._kinds]
        for name in sorted(
            (name for name, in_seconds in due.items() if in_seconds <= 0), key=due.__getitem__
        ):
            await self._start(self._kinds[name], AT_ONCE - len(self._running))
        return min(later, default=LOOK_AGAIN_SECONDS)

    async def _start(self, kind: JobKind, room: int) -> None:
        most = min(room, kind.at_once - self._counts[kind.name])
        if most <= 0:
            return
        if isinstance(kind, TransactionalKind):
            self._begin(kind, self._run_transactions(kind))
            return
        claimed = await claim(self._runtime, kind, most)
        if not claimed:
            self._not_before[kind.name] = monotonic() + LOCKED_ELSEWHERE_SECONDS
        elif len(claimed) < most:
            # More of them may be due behind those whose concurrency keys were taken.
            self._wake.set()
        for job in claimed:
            self._begin(kind, run_leased(self._runtime, kind, job))

    def _begin(self, kind: JobKind, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._running[task] = kind.name
        self._counts[kind.name] += 1
        jobs_running.labels(kind.name).inc()
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        name = self._running.pop(task)
        self._counts[name] -= 1
        jobs_running.labels(name).dec()
        if isinstance(self._kinds[name], LeasedKind):
            # The concurrency key of the job that has ended is free.
            self._not_before.pop(name, None)
        self._wake.set()
        if task.cancelled() or (trouble := task.exception()) is None:
            return
        # A leased job comes back when its lease ends, a transactional one at once; the others go on.
        self._not_before[name] = monotonic() + LOCKED_ELSEWHERE_SECONDS
        if isinstance(trouble, Unavailable):
            _log.warning("the result of a job was not written", job=name, reason=trouble.detail)
        self._runtime.jobs.failed(name, trouble)

    async def _run_transactions(self, kind: TransactionalKind) -> None:
        """Run the due jobs of a kind, one after the other."""
        async with self._transactions:
            if not await run_in_transaction(self._runtime, kind):
                self._not_before[kind.name] = monotonic() + LOCKED_ELSEWHERE_SECONDS
                return
            while kind.every_seconds is None and await run_in_transaction(self._runtime, kind):
                pass

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._wake.wait()

    async def _measure(self) -> None:
        if monotonic() < self._measure_at:
            return
        self._measure_at = monotonic() + MEASURE_SECONDS
        for depth in await self._runtime.database.look(lambda tx: store.depths(tx, list(self._kinds))):
            jobs_due.labels(depth.kind).set(depth.due)
            jobs_dead.labels(depth.kind).set(depth.dead)
            jobs_oldest_seconds.labels(depth.kind).set(depth.oldest_seconds)

    async def _drain(self) -> None:
        if self._running:
            await asyncio.wait(self._running, timeout=DRAIN_SECONDS)
        under_way = list(self._running)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
