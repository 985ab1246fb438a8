"""How a process stops: at SIGTERM or SIGINT, and with the death of its parent.

- A signal during the start cancels it; a signal while requests are served drains them.
- A worker whose parent died stops within the time that the parent would have waited.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable

import structlog

from hansa.doors.serving.service_manager import STOPPING, notify

DRAIN_SECONDS = 10
WORKER_STOP_SECONDS = DRAIN_SECONDS + 10
STOPPING_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_log = structlog.get_logger()


def on_stop_signal(act: Callable[[], object]) -> None:
    """Call `act` at each signal that stops, in place of the former function."""
    for number in STOPPING_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, act)


def cancel_on_stop_signal() -> None:
    """Cancel the start at a signal, until something is served; the parts that were started already are stopped in order."""
    starting = asyncio.current_task()
    assert starting is not None

    def cancel() -> None:
        # Once: a second signal would break off the shutdown of the database.
        on_stop_signal(lambda: None)
        starting.cancel()

    on_stop_signal(cancel)


def log_stop(stop: Callable[[], object], *, announced: bool) -> None:
    """Stop, with a line of the log before; the process that announced the service reports it to the service manager as well."""
    _log.info("stopping: finishing open requests")
    if announced:
        notify(STOPPING)
    stop()


def stop_with_parent(parent: int, stop: Callable[[], object]) -> None:
    """Stop when the other end of the pipe `parent` is closed, as happens when its process dies."""
    loop = asyncio.get_running_loop()

    def closed() -> None:
        loop.remove_reader(parent)
        _stop_as_orphan(stop)

    loop.add_reader(parent, closed)


def _stop_as_orphan(stop: Callable[[], object]) -> None:
    """Stop, within the time that a parent would have waited before it kills.

    The database may have died with the parent, or not reply any more, and whatever waits for it would wait on.
    """
    stop()
    # A thread, because waiting also happens where the event loop has ended: for threads of a library, say.
    deadline = threading.Timer(WORKER_STOP_SECONDS, _end_orphan)
    deadline.daemon = True
    deadline.start()


def _end_orphan() -> None:
    _log.warning("the worker did not stop in time after its parent died; ending it", pid=os.getpid())
    os._exit(1)
