"""Differences between a thread and an event loop.

The synchronous client is generated from the asynchronous one (`python -m tests.house.synchronous`): a name that begins with
`Async` or `async_` loses that prefix.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

AsyncLock = asyncio.Lock
Lock = threading.Lock

async_sleep = asyncio.sleep
sleep = time.sleep

STOP_SECONDS = 5.0
NOTHING_RECEIVED = (TimeoutError, queue.Empty)
"""What the two forms of a socket raise when nothing arrives in time."""


class AsyncSignal:
    """Wakes one waiter; a call of `set` before the wait counts."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wake the waiter."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Return once it was set since the last wait, or after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()


class Signal:
    """The same for a thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Wake the waiter."""
        self._event.set()

    def wait(self, seconds: float) -> None:
        """Return once it was set since the last wait, or after `seconds`."""
        self._event.wait(seconds)
        self._event.clear()


class AsyncBackground:
    """A task that runs beside the caller until it is stopped."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._task = asyncio.create_task(work())

    async def stop(self) -> None:
        """End it, and wait for its end."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


class Background:
    """The same as a thread, whose work looks often enough whether it is to end."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Wait for its end, but not for a connection that hangs."""
        self._thread.join(STOP_SECONDS)
