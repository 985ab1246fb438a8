"""Periodic tasks: what each process repeats for itself, such as showing the result of an audit that any process ran.

Work that one process does for all is a job.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hansa.foundation.plumbing.runtime import Runtime


@dataclass(frozen=True)
class PeriodicTask:
    """Work done every so often in each process; it must be harmless to repeat."""

    name: str
    every_seconds: float
    work: Callable[[Runtime], Awaitable[Any]]


async def run_periodic_tasks(runtime: Runtime, tasks: Sequence[PeriodicTask]) -> None:
    """Run until cancelled."""
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(_repeat(runtime, task))


async def _repeat(runtime: Runtime, task: PeriodicTask) -> None:
    async def once() -> None:
        await task.work(runtime)

    pause = 0.0
    while True:
        await asyncio.sleep(max(task.every_seconds, pause))
        pause = await runtime.jobs.attempt(task.name, once)
