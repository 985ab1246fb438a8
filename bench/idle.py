"""idle: CPU of a registry that nobody calls, the database server included, in per cent of one core."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from time import monotonic

from bench.figures import Figures
from bench.process_cpu import used_alone, used_by
from bench.seed import temporary_directory

COMMAND = Path(sys.executable).with_name("hansa")
# What a start leaves to be done, such as the first audit, has ended by then.
SETTLING_SECONDS = 30
SECONDS, MANY_SECONDS = 60, 300
SAMPLES = 3


async def run(*, full: bool) -> Figures:
    figures = Figures()
    seconds = MANY_SECONDS if full else SECONDS
    async with temporary_directory() as directory:
        process = await asyncio.create_subprocess_exec(
            COMMAND, "serve", "--port=0", f"--data-dir={directory}", stdout=PIPE
        )
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"ready ")
        await asyncio.sleep(SETTLING_SECONDS)
        samples = [await _sample(process.pid, seconds) for _ in range(SAMPLES)]
        process.terminate()
        await process.wait()
    figures.add("a registry without requests", "% of a core", [whole for whole, _ in samples])
    figures.add("of this the service process", "% of a core", [service for _, service in samples])
    return figures


async def _sample(pid: int, seconds: float) -> tuple[float, float]:
    """Per cent of a core that the service with its database used meanwhile, and that the service process used."""
    began, whole, service = monotonic(), used_by(pid), used_alone(pid)
    await asyncio.sleep(seconds)
    share = 100 / (monotonic() - began)
    return (used_by(pid) - whole) * share, (used_alone(pid) - service) * share
