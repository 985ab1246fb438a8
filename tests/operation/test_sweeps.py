"""Background work goes on, whatever becomes of one turn of it."""

import asyncio

from hansa.foundation.plumbing.jobs import run_jobs, sweep
from hansa.foundation.plumbing.storage.database import Tx
from tests.operation.registry_process import until
from tests.registry import TestRegistry


async def test_a_sweep_that_fails_has_its_next_turn_and_stops_no_other(registry: TestRegistry):
    turns: list[str] = []

    async def fail(tx: Tx) -> None:
        turns.append("failing")
        await tx.execute("SELECT 1 / 0 FROM nowhere")

    async def succeed(tx: Tx) -> None:
        turns.append(await tx.fetchval("SELECT 'good'"))

    sweeps = [sweep("failing", 0.01, fail), sweep("good", 0.01, succeed)]
    running = asyncio.create_task(run_jobs(registry.runtime, sweeps))
    await until(lambda: turns.count("failing") >= 2 and "good" in turns[turns.index("failing") :])
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])
