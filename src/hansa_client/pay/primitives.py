"""Differences between a thread and an event loop, beside `hansa_client.primitives`."""

from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

import httpx2

from hansa_client.sqlite_writer import awaited

T = TypeVar("T")

FILE_SECONDS = 10.0

AsyncStream = httpx2.AsyncByteStream
Stream = httpx2.SyncByteStream
AsyncSend = Callable[[httpx2.Request], Awaitable[httpx2.Response]]
Send = Callable[[httpx2.Request], httpx2.Response]


async def async_result(pending: "Future[T]") -> T:
    """Return the result of a writer of a local file. Raises: TimeoutError, and the errors of the use."""
    return await awaited(pending, FILE_SECONDS)


def result(pending: "Future[T]") -> T:
    """Return the result of a writer of a local file. Raises: TimeoutError, and the errors of the use."""
    return pending.result(FILE_SECONDS)
