"""One writer for a local SQLite file.

- One thread runs the uses. Those that arrive while it commits are committed together, so that the cost of making them durable is
  shared.
- When a durable use returns, its writes are on the disk. Those of one that is not durable are in the file: they survive the end of
  the process, and a loss of power once a later durable use has returned. Of several uses a loss of power takes the last ones, never
  one in their midst.
- A use that raises changes nothing. A use may run twice, the second time after all that it changed was undone.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

LOCK_SECONDS = 4.0
STOP_SECONDS = 5.0
BATCH_MAX = 64


class _Job(NamedTuple):
    use: Callable[[sqlite3.Connection], Any]
    future: "Future[Any]"
    is_durable: bool


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
        """Return whether uses are accepted."""
        return self._thread is not None

    def open(self) -> None:
        """Start the thread; the file and its directory are created by the first use. Repeatable."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hansa-sqlite", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread after the queued uses."""
        with self._starting:
            if self._thread:
                self._jobs.put(None)
                self._thread.join(STOP_SECONDS)
                self._thread = None

    def submit(self, use: Callable[[sqlite3.Connection], T], *, is_durable: bool = True) -> "Future[T]":
        """Run `use` in a transaction. The future raises the errors of `use`, or sqlite3.Error or OSError of the file."""
        future: Future[T] = Future()
        self._jobs.put(_Job(use, future, is_durable))
        return future

    def _work(self) -> None:
        connection: sqlite3.Connection | None = None
        is_durable = True
        by_loop: _ByLoop = {}
        _WAITERS.by_loop = by_loop
        while batch := self._batch():
            try:
                if connection is None:
                    connection, is_durable = self._connect(), True
                if is_durable != any(job.is_durable for job in batch):
                    is_durable = not is_durable
                    _make_durable(connection, is_durable=is_durable)
                results = _in_one_transaction(connection, batch)
            except (sqlite3.Error, OSError) as failure:
                results = [(job.future, None, failure) for job in batch]
                if connection:
                    connection.close()
                connection = None
            for future, value, error in results:
                if error:
                    future.set_exception(error)
                else:
                    future.set_result(value)
            _wake(by_loop)
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
        return [job for job in batch if job.future.set_running_or_notify_cancel()] or (
            [] if not first else self._batch()
        )

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not self._path.exists():
            self._path.touch(mode=0o600)
        connection = sqlite3.connect(self._path, timeout=LOCK_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            _make_durable(connection, is_durable=True)
            if self._prepare:
                self._prepare(connection)
        except sqlite3.Error:
            connection.close()
            raise
        return connection


async def awaited(pending: "Future[T]", seconds: float) -> T:
    """Return the result of a use; one that has not begun by then is given up. Raises: TimeoutError, and the errors of the use."""
    if pending.done():
        return pending.result()
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[bool] = loop.create_future()

    def has_ended(_: "Future[T]") -> None:
        by_loop: _ByLoop | None = getattr(_WAITERS, "by_loop", None)
        if by_loop is None:
            _wake({loop: [waiter]})
        else:
            by_loop.setdefault(loop, []).append(waiter)

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


_ByLoop = dict[asyncio.AbstractEventLoop, list["asyncio.Future[bool]"]]
# In a writer's thread: whose uses have ended in the transaction that was just committed.
_WAITERS = threading.local()


def _wake(by_loop: _ByLoop) -> None:
    """Wake each loop once for all that awaited something, and forget them."""
    while by_loop:
        loop, waiters = by_loop.popitem()
        # A loop that was closed meanwhile awaits nothing any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle_all, waiters)


def _settle_all(waiters: "Sequence[asyncio.Future[bool]]") -> None:
    for waiter in waiters:
        _settle(waiter, True)


_Result = tuple["Future[Any]", Any, Exception | None]


def _make_durable(connection: sqlite3.Connection, *, is_durable: bool) -> None:
    """Set whether a transaction is on the disk once it is committed, from the next one on."""
    connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")


class _UseRaised(Exception):
    """The changes of the transaction are undone, and each of its uses runs again."""


def _in_one_transaction(connection: sqlite3.Connection, batch: Sequence[_Job]) -> list[_Result]:
    try:
        return _committed(connection, batch, _run)
    except _UseRaised:
        return _committed(connection, batch, _run_apart)


def _committed(
    connection: sqlite3.Connection, batch: Sequence[_Job], run: Callable[[sqlite3.Connection, _Job], _Result]
) -> list[_Result]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        results = [run(connection, job) for job in batch]
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return results


def _run(connection: sqlite3.Connection, job: _Job) -> _Result:
    try:
        return job.future, job.use(connection), None
    except Exception as error:
        raise _UseRaised from error


def _run_apart(connection: sqlite3.Connection, job: _Job) -> _Result:
    """Each use between two savepoints, which cost as much as its own statements."""
    connection.execute("SAVEPOINT one_use")
    try:
        result: _Result = job.future, job.use(connection), None
    except Exception as error:  # noqa: BLE001
        connection.execute("ROLLBACK TO one_use")
        result = job.future, None, error
    connection.execute("RELEASE one_use")
    return result
