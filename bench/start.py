"""start: CPU time of a later start until `ready`, the database server included; of `--help` and `--version`."""

import asyncio
import resource
import subprocess
import sys
from pathlib import Path

from bench.figures import Figures
from bench.process_cpu import used_by
from bench.seed import temporary_directory

PERIODIC_TASKS, MANY_ROUNDS = 5, 20
COMMAND = Path(sys.executable).with_name("hansa")


async def run(*, full: bool) -> Figures:
    figures = Figures()
    rounds = MANY_ROUNDS if full else PERIODIC_TASKS
    async with temporary_directory() as directory:
        await _start(directory)
        starts = [await _start(directory) for _ in range(rounds)]
    start = figures.add("CPU of a later start until ready", "s", starts)
    baseline = figures.add(
        "CPU of `import fastapi`", "s", [_cpu(sys.executable, "-c", "import fastapi") for _ in range(rounds)]
    )
    for option in ("--help", "--version"):
        figures.add(f"CPU of hansa {option}", "s", [_cpu(str(COMMAND), option) for _ in range(rounds)])
    figures.notes.append(f"a later start: {start / baseline:.1f} x the import of fastapi")
    return figures


async def _start(directory: Path) -> float:
    """CPU seconds that the service and all it started have used when it says ready; it is stopped afterwards."""
    process = await asyncio.create_subprocess_exec(
        COMMAND, "serve", "--port=0", f"--data-dir={directory}", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    line = await process.stdout.readline()
    assert line.startswith(b"ready "), line
    used = used_by(process.pid)
    process.terminate()
    await process.wait()
    return used


def _cpu(*command: str) -> float:
    """CPU seconds of one command from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
