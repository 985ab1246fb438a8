"""View of a running server from outside, and the signals that end it."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic


def server_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])


def kill_server(data_dir: Path) -> int:
    pid = server_pid(data_dir)
    os.kill(pid, signal.SIGKILL)
    return pid


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, "it did not come to pass in time"
        await asyncio.sleep(0.01)


async def cancelled(task: "asyncio.Task[object]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
