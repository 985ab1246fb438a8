"""The processes of a registry that several serve: started, replaced when one dies, and stopped together."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence

import structlog

from hansa.doors.listeners import Listeners, ready_line
from hansa.doors.shared_metrics import DIRECTORY, forget_process
from hansa.doors.stop_signals import WORKER_STOP_SECONDS, log_stop, on_stop_signal
from hansa.foundation.plumbing.settings import Settings

PAUSE_SECONDS = 0.2
READY_PAUSE_SECONDS = 0.05
READY_TIMEOUT_SECONDS = 5

_log = structlog.get_logger()


async def serve_with_workers(
    settings: Settings, shared: Mapping[str, str], listeners: Listeners, count: int
) -> None:
    """Serve with `count` workers until SIGTERM or SIGINT; `shared`: variables that every worker gets."""
    stopping = asyncio.Event()
    on_stop_signal(lambda: log_stop(stopping.set))
    # Workers hold the reading end. Nobody writes: the kernel closes our end when we die, however that happens.
    reading, writing = os.pipe()
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(_keep_worker(settings, shared, listeners, reading, stopping))
            announcing = group.create_task(_announce(settings))
            await stopping.wait()
            announcing.cancel()
    finally:
        os.close(reading)
        os.close(writing)


async def _keep_worker(
    settings: Settings, shared: Mapping[str, str], listeners: Listeners, parent: int, stopping: asyncio.Event
) -> None:
    """Run one worker, and another one when it dies."""
    while not stopping.is_set():
        worker = await asyncio.create_subprocess_exec(
            *_worker_command(settings, listeners, parent),
            pass_fds=[*listeners.descriptors(), parent],
            env={**os.environ, **shared},
        )
        ended, stop_requested = asyncio.create_task(worker.wait()), asyncio.create_task(stopping.wait())
        await asyncio.wait({ended, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
        stop_requested.cancel()
        if stopping.is_set():
            await _stop_worker(worker)
        else:
            _log.warning("worker died; starting another", exit_code=worker.returncode)
            forget_process(shared[DIRECTORY], worker.pid)
            await asyncio.sleep(PAUSE_SECONDS)


async def _stop_worker(worker: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.terminate()
    try:
        async with asyncio.timeout(WORKER_STOP_SECONDS):
            await worker.wait()
    except TimeoutError:
        _log.warning("worker did not stop in time; killing it", pid=worker.pid)
        worker.kill()
        await worker.wait()


def _worker_command(settings: Settings, listeners: Listeners, parent: int) -> Sequence[str]:
    mutual = listeners.federation
    return [
        sys.executable,
        "-m",
        "hansa.doors.operate",
        "serve-worker",
        f"--listener={listeners.public.fileno()}",
        *([] if mutual is None else [f"--federation-listener={mutual.fileno()}"]),
        f"--parent={parent}",
        f"--host={settings.host}",
        f"--port={settings.port}",
        f"--data-dir={settings.data_dir}",
    ]


async def _announce(settings: Settings) -> None:
    """Print the ready line once a worker answers."""
    while not await _answers(settings):  # noqa: ASYNC110
        await asyncio.sleep(READY_PAUSE_SECONDS)
    print(ready_line(settings), flush=True)  # noqa: T201


async def _answers(settings: Settings) -> bool:
    try:
        async with asyncio.timeout(READY_TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection(settings.host, settings.port)
            writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        return False
    return b" 200 " in answer
