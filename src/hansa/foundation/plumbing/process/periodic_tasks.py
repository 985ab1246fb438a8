"""Periodic tasks that each process repeats for itself, such as showing the result of an audit that any process ran.

Work that one process does for all is a job.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.telemetry.metrics import begin, job_failures_total


class PeriodicTask(msgspec.Struct, frozen=True):
    """Work done every so often in each process; it must be harmless to repeat.

    Where `pause_seconds` is given it says before each time how long to wait, and `every_seconds` is the first pause.
    """

    name: str
    every_seconds: float
    work: Callable[[Runtime], Awaitable[Any]]
    pause_seconds: Callable[[Runtime], float] | None = None


async def run_periodic_tasks(runtime: Runtime, tasks: Sequence[PeriodicTask]) -> None:
    """Run until cancelled."""
    begin(job_failures_total, [task.name for task in tasks])
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(_repeat(runtime, task))


async def _repeat(runtime: Runtime, task: PeriodicTask) -> None:
    async def once() -> None:
        await task.work(runtime)

    every, failed_pause = task.every_seconds, 0.0
    while True:
        await asyncio.sleep(max(runtime.jobs.interval(task.name, every), failed_pause))
        failed_pause = await runtime.jobs.attempt(task.name, once)
        if task.pause_seconds is not None:
            every = task.pause_seconds(runtime)
