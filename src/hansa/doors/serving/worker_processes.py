"""The processes of a registry that several serve: started, replaced when one dies, and stopped together."""

import asyncio
import signal
from collections.abc import Mapping
from typing import Any

import structlog

from hansa.doors.serving.listeners import ready_line
from hansa.doors.serving.service_manager import answers, report_ready
from hansa.doors.serving.stop_signals import WORKER_STOP_SECONDS, log_stop, on_stop_signal
from hansa.doors.serving.worker_forks import ForkedWorker, WorkerForks
from hansa.doors.shared_metrics import DIRECTORY, forget_process
from hansa.foundation.plumbing.settings import Settings

PAUSE_SECONDS = 0.2
READY_PAUSE_SECONDS = 0.05

_log = structlog.get_logger()


async def serve_with_workers(
    settings: Settings, shared: Mapping[str, str], forks: WorkerForks, count: int
) -> None:
    """Serve with `count` workers until SIGTERM or SIGINT; `shared`: variables that every worker gets."""
    stopping = asyncio.Event()
    on_stop_signal(lambda: log_stop(stopping.set, announced=True))
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(_keep_worker(shared, forks, stopping))
        announcing = group.create_task(_announce(settings))
        await stopping.wait()
        announcing.cancel()


async def _keep_worker(shared: Mapping[str, str], forks: WorkerForks, stopping: asyncio.Event) -> None:
    """Run one worker, and another one when it dies."""
    while not stopping.is_set():
        try:
            worker = await forks.start(shared)
        except ConnectionError as error:
            _log.warning("no worker started; trying again", reason=str(error))
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        stop_requested = asyncio.create_task(stopping.wait())
        awaited: set[asyncio.Future[Any]] = {worker.exit_code, stop_requested}
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        stop_requested.cancel()
        if stopping.is_set():
            await _stop_worker(worker)
        else:
            _log.warning("worker died; starting another", exit_code=worker.exit_code.result())
            forget_process(shared[DIRECTORY], worker.pid)
            await asyncio.sleep(PAUSE_SECONDS)


async def _stop_worker(worker: ForkedWorker) -> None:
    worker.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(WORKER_STOP_SECONDS):
            await asyncio.shield(worker.exit_code)
    except TimeoutError:
        _log.warning("worker did not stop in time; killing it", pid=worker.pid)
        worker.send_signal(signal.SIGKILL)
        await worker.exit_code


async def _announce(settings: Settings) -> None:
    """Print the ready line once a worker answers."""
    while not await answers(settings):  # noqa: ASYNC110
        await asyncio.sleep(READY_PAUSE_SECONDS)
    report_ready(ready_line(settings))
