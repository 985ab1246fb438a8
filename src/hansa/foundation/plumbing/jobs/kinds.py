"""Kinds of jobs that a process can run, the retries of each, and the exceptions by which work fails."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx

SCHEDULE = "schedule"
"""The key of the one job of a scheduled kind."""


class Job(msgspec.Struct, frozen=True):
    """A job in the hands of this process. `attempts` counts the present one."""

    id: int
    kind: str
    key: str
    payload: dict[str, Any]
    attempts: int
    fencing_token: int


class NewJob(msgspec.Struct, frozen=True):
    """A job to be enqueued, due at once unless `due_at` says when.

    Of the jobs of a kind that have the same `concurrency_key` one is leased at a time, among all processes. One of
    `low_priority` is leased when no other of its kind is due.
    """

    key: str
    due_at: datetime | None = None
    concurrency_key: str | None = None
    low_priority: bool = False


class PutOff(Exception):
    """The attempt failed for an expected reason; the job is retried after its back-off. The reason is shown to operators."""


class GiveUp(Exception):
    """No attempt can succeed; the job is dead with this reason, which is shown to operators."""


class Retries(msgspec.Struct, frozen=True):
    """How a job that fails is retried: after a pause that doubles, give or take a tenth, up to a limit.

    After `attempts_max` attempts it is dead; None: it is retried for ever.
    """

    attempts_max: int | None = 10
    pause_seconds: float = 1.0
    pause_max_seconds: float = 3600.0


def always(_: Settings) -> bool:
    """Whatever the settings are."""
    return True


class LeasedKind(msgspec.Struct, frozen=True):
    """Jobs that go out on the network: run under a lease that is renewed, in no transaction of their own.

    A job runs at least once; `work` must be harmless to repeat. With `every_seconds` the kind is scheduled.
    With `concludes` the work ends its job itself, by `conclude` in the transaction that writes its result.

    `started_at_once` bounds the jobs that a process has started within the last half second and that still run: jobs that
    wait for slow hosts then leave their place to others, up to `at_once` in all. Where `is_enabled` refuses the settings,
    jobs of the kind stay as they are.

    A scheduled kind with `has_work` is claimed only when that reading statement says so, asked every `every_seconds`.
    """

    name: str
    work: Callable[[Runtime, Job], Awaitable[None]]
    at_once: int = 1
    lease_seconds: float = 30.0
    retries: Retries = msgspec.field(default_factory=Retries)
    every_seconds: float | None = None
    concludes: bool = False
    started_at_once: int | None = None
    is_enabled: Callable[[Settings], bool] = always
    has_work: Callable[[Tx], Awaitable[bool]] | None = None
    is_droppable: bool = False
    """Whether operators may delete its jobs: none that moves units, says something to a peer, or is all that goes on with a row."""


class TransactionalKind(msgspec.Struct, frozen=True):
    """Jobs whose work is one transaction: the lock of the job's row is the lease, and work and result commit together.

    They run one at a time in a process. With `one_snapshot` all statements see the same moment. An enqueue of the same
    key waits while the job runs.

    With `has_work` the kind has one job that runs whenever `has_work` says so, one reading statement: asked after each
    notification of `channel`, at most every PACE_SECONDS, and at least every `every_seconds`; without a channel at this pace.
    Where it still has work after a run it goes on at once, unless `once_a_turn`: the jobs that it starts end later. Work that returns
    False has done all that there was, and `has_work` is not asked again.
    `exhausted` is called, in a transaction that holds the job, when the last attempt failed; the job goes on.
    """

    name: str
    work: Callable[[Tx, Runtime, Job], Awaitable[bool | None]]
    one_snapshot: bool = False
    retries: Retries = msgspec.field(default_factory=Retries)
    every_seconds: float | None = None
    has_work: Callable[[Tx], Awaitable[bool]] | None = None
    channel: str | None = None
    exhausted: Callable[[Tx, Job, Exception], Awaitable[None]] | None = None
    at_once: int = 1
    once_a_turn: bool = False
    is_droppable: bool = False


JobKind: TypeAlias = LeasedKind | TransactionalKind


def sweep(
    name: str, every_seconds: float, work: Callable[[Tx], Awaitable[object]], *, one_snapshot: bool = False
) -> TransactionalKind:
    """Scheduled work in one transaction, in one process at a time; it must be harmless to repeat."""
    return sweep_with_runtime(name, every_seconds, lambda tx, _: work(tx), one_snapshot=one_snapshot)


def sweep_of(
    name: str,
    every_seconds: float,
    has_work: Callable[[Tx], Awaitable[bool]],
    work: Callable[[Tx], Awaitable[object]],
    *,
    once_a_turn: bool = False,
) -> TransactionalKind:
    """Return a kind like that of `sweep` for the rows that one reading statement finds: nothing is written while it finds none.

    Work that leaves these rows unchanged, because a job that it enqueues will change them, runs `once_a_turn`.
    """
    return sweep_with_runtime(
        name, every_seconds, lambda tx, _: work(tx), has_work=has_work, once_a_turn=once_a_turn
    )


def sweep_with_runtime(
    name: str,
    every_seconds: float,
    work: Callable[[Tx, Runtime], Awaitable[object]],
    *,
    one_snapshot: bool = False,
    has_work: Callable[[Tx], Awaitable[bool]] | None = None,
    once_a_turn: bool = False,
) -> TransactionalKind:
    """Return a kind like that of `sweep` or, with `has_work`, of `sweep_of`; the work gets the runtime too."""

    async def run(tx: Tx, runtime: Runtime, _: Job) -> None:
        await work(tx, runtime)

    return TransactionalKind(
        name,
        run,
        one_snapshot,
        _scheduled(every_seconds),
        every_seconds,
        has_work=has_work,
        once_a_turn=once_a_turn,
    )


def scheduled(
    name: str,
    every_seconds: float,
    work: Callable[[Runtime], Awaitable[object]],
    has_work: Callable[[Tx], Awaitable[bool]] | None = None,
) -> LeasedKind:
    """Scheduled work that opens its own transactions, in one process at a time; it must be harmless to repeat.

    Nothing is written while `has_work`, one reading statement, finds nothing.
    """

    async def run(runtime: Runtime, _: Job) -> None:
        await work(runtime)

    retries = _scheduled(every_seconds)
    return LeasedKind(name, run, retries=retries, every_seconds=every_seconds, has_work=has_work)


def _scheduled(every_seconds: float) -> Retries:
    """Scheduled work never dies, and is tried no more often after a failure than otherwise."""
    return Retries(None, pause_seconds=every_seconds, pause_max_seconds=max(every_seconds, 300.0))
