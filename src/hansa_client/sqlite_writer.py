"""One writer for a local SQLite file.

One thread runs the uses. Those that arrive while it commits are committed together, so that the cost of making them
durable is shared. What a use returned is on the disk.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

LOCK_SECONDS = 4.0
STOP_SECONDS = 5.0
BATCH_MAX = 64

_Job = tuple[Callable[[sqlite3.Connection], Any], "Future[Any]"]


class SqliteWriter:
    """A file and its thread. A use that raises is rolled back alone."""

    def __init__(self, path: Path, prepare: Callable[[sqlite3.Connection], None] | None = None) -> None:
        """`prepare` is applied to each new connection."""
        self._path, self._prepare = path, prepare
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether uses are accepted."""
        return self._thread is not None

    def open(self) -> None:
        """Start the thread; the file and its directory are created by the first use. Repeatable."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hansa-sqlite", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread after what is queued."""
        with self._starting:
            if self._thread:
                self._jobs.put(None)
                self._thread.join(STOP_SECONDS)
                self._thread = None

    def submit(self, use: Callable[[sqlite3.Connection], T]) -> "Future[T]":
        """Run `use` in a transaction. The future raises what it raised, or sqlite3.Error or OSError of the file."""
        future: Future[T] = Future()
        self._jobs.put((use, future))
        return future

    def _work(self) -> None:
        connection: sqlite3.Connection | None = None
        while batch := self._batch():
            try:
                connection = connection or self._connect()
                results = _in_one_transaction(connection, batch)
            except (sqlite3.Error, OSError) as trouble:
                results = [(future, None, trouble) for _, future in batch]
                if connection:
                    connection.close()
                connection = None
            for future, value, error in results:
                if error:
                    future.set_exception(error)
                else:
                    future.set_result(value)
        if connection:
            connection.close()

    def _batch(self) -> list[_Job]:
        """The uses that wait, at least one; empty when the writer is to end."""
        first = self._jobs.get()
        batch = [first] if first else []
        while batch and len(batch) < BATCH_MAX and not self._jobs.empty():
            following = self._jobs.get()
            if following is None:
                self._jobs.put(None)
                break
            batch.append(following)
        # A use that is no longer awaited may still run; one that was cancelled does not.
        return [job for job in batch if job[1].set_running_or_notify_cancel()] or (
            [] if not first else self._batch()
        )

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not self._path.exists():
            self._path.touch(mode=0o600)
        connection = sqlite3.connect(self._path, timeout=LOCK_SECONDS, isolation_level=None)
        # What was reported as stored survives a loss of power.
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")
        if self._prepare:
            self._prepare(connection)
        return connection


async def awaited(pending: "Future[T]", seconds: float) -> T:
    """What a use returned; one that has not begun by then is given up. Raises: TimeoutError, and what the use raised."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[bool] = loop.create_future()

    def has_ended(_: "Future[T]") -> None:
        # A loop that was closed meanwhile awaits nothing any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, waiter, True)

    pending.add_done_callback(has_ended)
    timer = loop.call_later(seconds, _settle, waiter, False)
    try:
        is_in_time = await waiter
    finally:
        timer.cancel()
        pending.cancel()
    if not is_in_time:
        raise TimeoutError(f"the file did not answer within {seconds} seconds")
    return pending.result()


def _settle(waiter: "asyncio.Future[bool]", is_in_time: bool) -> None:
    if not waiter.done():
        waiter.set_result(is_in_time)


_Result = tuple["Future[Any]", Any, Exception | None]


def _in_one_transaction(connection: sqlite3.Connection, batch: Sequence[_Job]) -> list[_Result]:
    results: list[_Result] = []
    connection.execute("BEGIN IMMEDIATE")
    try:
        for use, future in batch:
            connection.execute("SAVEPOINT one_use")
            try:
                results.append((future, use(connection), None))
            except Exception as trouble:  # noqa: BLE001
                connection.execute("ROLLBACK TO one_use")
                results.append((future, None, trouble))
            connection.execute("RELEASE one_use")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return results
