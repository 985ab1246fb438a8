"""The worker of one process: starts due jobs, waits for a notification or the next due time, drains at the end.

- Due jobs are found by one reading statement, at a notification or at the next due time; nothing is written while there
  is nothing to do. Kinds that say themselves when there is work are asked together (`Question`), then the due jobs of those that have some.
- A kind runs so many jobs at once in a process as it says, all kinds together AT_ONCE; transactional ones, each of which
  holds a connection, TRANSACTIONS_AT_ONCE. Of a kind with `started_at_once` only the jobs started within START_SECONDS
  count for AT_ONCE: the others wait for hosts.
- Cancelled, it starts nothing more, lets running jobs end for DRAIN_SECONDS, then cancels them and gives the leases back.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

import msgspec
import structlog

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.batch_loader import Question, ask
from hansa.foundation.plumbing.telemetry.metrics import (
    begin,
    job_failures_total,
    jobs_dead,
    jobs_due,
    jobs_failed_total,
    jobs_fenced_total,
    jobs_oldest_seconds,
    jobs_running,
)
from hansa.foundation.values.errors import Unavailable

from . import store
from .kinds import SCHEDULE, JobKind, LeasedKind, TransactionalKind
from .notifications import wake_at_notifications
from .polls import Poll
from .running import claim, run_in_transaction, run_leased

NO_WAKES: Mapping[str, Callable[[Runtime], None]] = {}
AT_ONCE = 64
TRANSACTIONS_AT_ONCE = 6
START_SECONDS = 0.5
# A kind with much to do lets others have its place in between.
TRANSACTIONS_IN_A_ROW = 20
LOOK_AGAIN_SECONDS = 5.0
RECONNECT_SECONDS = 1.0
# A job that is due but locked is another process's.
LOCKED_ELSEWHERE_SECONDS = 0.5
# Jobs that are enqueued together are started together.
GATHERING_SECONDS = 0.002
# Of a kind that runs hundreds of jobs at once, those that end within this time are followed by one claim.
ENDS_GATHERING_SECONDS = 0.02
MEASURE_SECONDS = 15.0
DRAIN_SECONDS = 6.0
WORKER = "jobs: start what is due"

_log = structlog.get_logger()


class _Run(msgspec.Struct, frozen=True):
    """A job, or a run of transactions of one kind, under way in this process."""

    kind: JobKind
    began: float = msgspec.field(default_factory=monotonic)

    def is_starting(self, now: float) -> bool:
        return self.began > now - START_SECONDS

    def counts(self, now: float) -> bool:
        """Return whether it counts for AT_ONCE."""
        return _starts_at_once(self.kind) is None or self.is_starting(now)


def _starts_at_once(kind: JobKind) -> int | None:
    return kind.started_at_once if isinstance(kind, LeasedKind) else None


def _polled(kind: JobKind) -> bool:
    return kind.has_work is not None


def _poll_of(kind: JobKind) -> Poll:
    rest = kind.every_seconds or LOOK_AGAIN_SECONDS
    return Poll(rest) if _is_notified(kind) else Poll(rest, rest)


def _is_notified(kind: JobKind) -> bool:
    return isinstance(kind, TransactionalKind) and kind.channel is not None


def _questions(kinds: Iterable[JobKind]) -> dict[str, Question]:
    """The questions of those kinds that have one, by name."""
    return {kind.name: kind.has_work for kind in kinds if isinstance(kind.has_work, Question)}


def _is_enabled(kind: JobKind, runtime: Runtime) -> bool:
    return not isinstance(kind, LeasedKind) or kind.is_enabled(runtime.settings)


async def run_jobs(
    runtime: Runtime, kinds: Sequence[JobKind], wakes: Mapping[str, Callable[[Runtime], None]] = NO_WAKES
) -> None:
    """Run jobs of these kinds until cancelled, and call each of `wakes` at the notifications of its channel."""
    await Worker(runtime, kinds, wakes).run()


class Worker:
    """The jobs that one process runs."""

    def __init__(
        self, runtime: Runtime, kinds: Sequence[JobKind], wakes: Mapping[str, Callable[[Runtime], None]]
    ) -> None:
        self._runtime = runtime
        self._other_wakes = wakes
        self._kinds = {kind.name: kind for kind in kinds if _is_enabled(kind, runtime)}
        for counter in (jobs_failed_total, jobs_fenced_total, job_failures_total):
            begin(counter, self._kinds)
        self._running: dict[asyncio.Task[None], _Run] = {}
        self._counts: Counter[str] = Counter()
        self._not_before: dict[str, float] = {}
        self._transactions = asyncio.Semaphore(TRANSACTIONS_AT_ONCE)
        self._wake = asyncio.Event()
        self._waking: asyncio.TimerHandle | None = None
        self._look_at = 0.0
        self._is_look_asked = False
        self._measure_at = 0.0
        self._next_in = 0.0
        self._is_settled = False
        self._is_draining = False
        self._polls = {name: _poll_of(kind) for name, kind in self._kinds.items() if _polled(kind)}
        self._of_channels = _questions(kind for kind in self._kinds.values() if _is_notified(kind))

    async def run(self) -> None:
        """Run until cancelled; then drain."""
        listening = asyncio.create_task(
            wake_at_notifications(self._runtime.database.dsn, self._wakes(), self._runtime.jobs)
        )
        try:
            while True:
                self._next_in = RECONNECT_SECONDS
                pause = await self._runtime.jobs.attempt(WORKER, self._turn)
                await self._pause(max(pause, GATHERING_SECONDS))
        finally:
            listening.cancel()
            await self._drain()

    def _wakes(self) -> dict[str, Callable[[], None]]:
        """Return the function to call at the notifications of each channel."""
        wakes: dict[str, Callable[[], None]] = {
            channel: partial(wake, self._runtime) for channel, wake in self._other_wakes.items()
        }
        wakes[store.NOTIFICATIONS] = self._look_now
        channels = {kind.channel for kind in self._kinds.values() if isinstance(kind, TransactionalKind)}
        wakes.update((channel, partial(self._notified, channel)) for channel in channels if channel)
        return wakes

    def _notified(self, channel: str) -> None:
        now = monotonic()
        for name, poll in self._polls.items():
            kind = self._kinds[name]
            if isinstance(kind, TransactionalKind) and kind.channel == channel and poll.hasten(now):
                self._wake.set()

    def _look_now(self) -> None:
        """There may be a job to start, of any kind: the next turn looks."""
        self._is_look_asked = True
        self._wake.set()

    async def _turn(self) -> None:
        """Start the due jobs, and note in how many seconds there may be more."""
        self._wake.clear()
        if self._is_look_asked:
            self._is_look_asked, self._look_at = False, 0.0
        if not self._is_settled:
            await self._settle_schedules()
            self._is_settled = True
        self._next_in = min(await self._start_due(), LOOK_AGAIN_SECONDS)
        await self._measure()

    async def _settle_schedules(self) -> None:
        scheduled = {
            name: 0.0 if name in self._polls else kind.every_seconds
            for name, kind in self._kinds.items()
            if kind.every_seconds
        }
        await self._runtime.database.transaction(lambda tx: store.settle_schedules(tx, scheduled, SCHEDULE))

    async def _start_due(self) -> float:
        """Start the due jobs for which there is room; returns in how many seconds there may be more."""
        now = monotonic()
        if self._places() <= 0:
            return self._next_turn_in(now)
        asked = await self._with_work([name for name in self._polls if self._may_start(name, now)])
        if now >= self._look_at:
            asked += [name for name in self._kinds if name not in self._polls and self._may_start(name, now)]
        due = await self._runtime.database.query_again(lambda tx: store.next_due(tx, asked)) if asked else {}
        self._note_due(asked, due, now)
        for name in sorted((name for name in due if due[name] <= 0), key=due.__getitem__):
            await self._start(self._kinds[name], self._places())
        return self._next_turn_in(now)

    def _note_due(self, asked: Sequence[str], due: dict[str, float], now: float) -> None:
        """Note when the kinds that were asked for are looked at again, by the seconds until a job of each is due."""
        if now >= self._look_at:
            self._look_at = now + LOOK_AGAIN_SECONDS
        for name in asked:
            again_at = now + min(due.get(name, LOOK_AGAIN_SECONDS), LOOK_AGAIN_SECONDS)
            if again_at <= now:
                continue
            if name in self._polls:
                self._not_before[name] = again_at
            else:
                self._look_at = min(self._look_at, again_at)

    def _next_turn_in(self, now: float) -> float:
        """In how many seconds a kind may be asked for again; those that are left alone for a while are looked at then."""
        left_alone = [at for name, at in self._not_before.items() if name not in self._polls and at > now]
        started = [
            run.began + START_SECONDS
            for run in self._running.values()
            if _starts_at_once(run.kind) is not None
        ]
        self._look_at = min([self._look_at, *left_alone, *(at for at in started if at > now)])
        polled = [
            max(poll.at, self._not_before.get(name, 0.0))
            for name, poll in self._polls.items()
            if not self._counts[name]
        ]
        times = (at - now for at in (self._look_at, *polled) if at > now)
        return min(times, default=LOOK_AGAIN_SECONDS)

    def _may_start(self, name: str, now: float) -> bool:
        if self._room(self._kinds[name], now) <= 0 or self._not_before.get(name, 0.0) > now:
            return False
        poll = self._polls.get(name)
        return poll is None or poll.at <= now

    def _places(self) -> int:
        """How many jobs of any kind may be started now."""
        now = monotonic()
        return AT_ONCE - sum(run.counts(now) for run in self._running.values())

    def _room(self, kind: JobKind, now: float) -> int:
        """How many jobs of a kind may be started now, as far as the kind says."""
        room = kind.at_once - self._counts[kind.name]
        most = _starts_at_once(kind)
        if most is None or room <= 0:
            return room
        starting = sum(run.kind is kind and run.is_starting(now) for run in self._running.values())
        return min(room, most - starting)

    async def _with_work(self, names: Sequence[str]) -> list[str]:
        """Those of the polled kinds that have work."""
        questions = _questions(self._kinds[name] for name in names)
        answers = await self._answers(
            {name: one for name, one in questions.items() if name not in self._of_channels}
        )
        if len(questions.keys() & self._of_channels.keys()) > 1:
            # Always all of them: a statement that reads the journal takes long to be planned, and so is planned once.
            answers |= await self._answers(self._of_channels)
        return [name for name in names if await self._has_work(name, answers.get(name))]

    async def _answers(self, questions: Mapping[str, Question]) -> dict[str, bool]:
        """The answers to several questions. Where one of them fails each is asked alone, and the failure is that of its kind."""
        if len(questions) > 1:
            with suppress(Exception):
                return await self._runtime.database.query_again(lambda tx: ask(tx, questions))
        return {}

    async def _has_work(self, name: str, answer: bool | None) -> bool:
        """Return whether a kind has work, by the answer or asked now. No work is a success: the failed work is done or set aside."""
        kind, poll = self._kinds[name], self._polls[name]
        is_found = False

        async def inspect() -> bool:
            nonlocal is_found
            is_found = await self._looks(kind) if answer is None else answer
            return not is_found

        pause = await self._runtime.jobs.attempt(name, inspect)
        now = monotonic()
        poll.looked(now, is_found=is_found, pause=pause)
        poll.at = now + self._runtime.jobs.interval(name, poll.at - now)
        return is_found

    async def _looks(self, kind: JobKind) -> bool:
        assert kind.has_work is not None
        return await self._runtime.database.query_again(kind.has_work)

    async def _start(self, kind: JobKind, places: int) -> None:
        most = min(places, self._room(kind, monotonic()))
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
            self._look_now()
        for job in claimed:
            self._begin(kind, run_leased(self._runtime, kind, job))

    def _begin(self, kind: JobKind, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._running[task] = _Run(kind)
        self._counts[kind.name] += 1
        jobs_running.labels(kind.name).inc()
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        name = self._running.pop(task).kind.name
        self._counts[name] -= 1
        jobs_running.labels(name).dec()
        if isinstance(self._kinds[name], LeasedKind):
            # The concurrency key of the job that has ended is free.
            self._not_before.pop(name, None)
        if _starts_at_once(self._kinds[name]) is None:
            # A kind that says itself whether it has more is asked. Others are looked at where one may have waited for its place.
            if name in self._polls and self._places() > 1:
                self._wake.set()
            else:
                self._look_now()
        elif self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(ENDS_GATHERING_SECONDS, self._wake_gathered)
        if task.cancelled() or (error := task.exception()) is None:
            return
        # A leased job comes back when its lease ends, a transactional one at once; the others go on.
        self._not_before[name] = monotonic() + LOCKED_ELSEWHERE_SECONDS
        if isinstance(error, Unavailable):
            _log.warning("the result of a job was not written", job=name, reason=error.detail)
        self._runtime.jobs.failed(name, error)

    def _wake_gathered(self) -> None:
        self._waking = None
        self._look_now()

    async def _run_transactions(self, kind: TransactionalKind) -> None:
        """Run due jobs of a kind, one after the other."""
        async with self._transactions:
            has_more = await run_in_transaction(self._runtime, kind)
            if has_more is None:
                self._not_before[kind.name] = monotonic() + LOCKED_ELSEWHERE_SECONDS
            for _ in range(TRANSACTIONS_IN_A_ROW):
                if not has_more or not await self._goes_on(kind):
                    return
                has_more = await run_in_transaction(self._runtime, kind)

    async def _goes_on(self, kind: TransactionalKind) -> bool:
        """Return whether a kind that has just run may have more to do at once."""
        if self._is_draining or kind.once_a_turn:
            return False
        return kind.every_seconds is None if kind.has_work is None else await self._looks(kind)

    async def _pause(self, least_seconds: float) -> None:
        """Wait until a kind may have work again, or a notification comes, but at least so long."""
        next_at = monotonic() + least_seconds
        seconds = max(self._next_in, 0.0) + least_seconds
        timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
        if (left_seconds := next_at - monotonic()) > 0:
            await asyncio.sleep(left_seconds)

    async def _measure(self) -> None:
        if monotonic() < self._measure_at:
            return
        self._measure_at = monotonic() + MEASURE_SECONDS
        # A kind that says itself when there is work has a job that is always due.
        counted = [name for name in self._kinds if name not in self._polls]
        for depth in await self._runtime.database.query_again(lambda tx: store.depths(tx, counted)):
            jobs_due.labels(depth.kind).set(depth.due)
            jobs_dead.labels(depth.kind).set(depth.dead)
            jobs_oldest_seconds.labels(depth.kind).set(depth.oldest_seconds)

    async def _drain(self) -> None:
        self._is_draining = True
        if self._running:
            await asyncio.wait(self._running, timeout=DRAIN_SECONDS)
        under_way = list(self._running)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
