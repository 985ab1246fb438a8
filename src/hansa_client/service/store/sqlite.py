"""The store in a local SQLite file: for a service whose processes run on one machine."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hansa_client.sqlite_writer import SqliteWriter, awaited

from .entry import StoreUnavailable
from .process_lock import ProcessLock
from .sql import Rows, Run, SqlStore

T = TypeVar("T")

TIMEOUT_SECONDS = 5.0
CLOCK = "((julianday('now') - 2440587.5) * 86400.0)"
# A file on one of these is shared by machines, and SQLite's locks do not hold there.
NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "ceph",
        "glusterfs",
        "fuse.sshfs",
        "fuse.glusterfs",
        "afs",
        "lustre",
    }
)


class SqliteDriver:
    """Runs each use as a part of the writer's next transaction."""

    def __init__(self, path: Path) -> None:
        self._lock = ProcessLock(path.with_name(f"{path.name}.processes"))
        self._writer = SqliteWriter(path, self._prepare)

    @property
    def process(self) -> str:
        """The name of this process."""
        return self._lock.name

    async def open(self) -> None:
        """Start the writer. Raises: StoreUnavailable."""
        try:
            self._lock.acquire()
        except OSError as error:
            raise StoreUnavailable(f"the lock of this process cannot be taken: {error}") from error
        self._writer.open()

    async def close(self) -> None:
        """End the writer after the queued uses."""
        await asyncio.to_thread(self._writer.close)
        self._lock.release()

    def _prepare(self, connection: sqlite3.Connection) -> None:
        def has_ended(owner: str) -> bool:
            return not self._lock.is_held_by(owner.partition(".")[0])

        connection.create_function("hansa_has_ended", 1, has_ended)

    async def within(self, use: Callable[[Run], Awaitable[T]], *, is_durable: bool = True) -> T:
        """See Driver. A use that is not durable survives the end of the process, not always a loss of power."""
        if not self._writer.is_open:
            raise StoreUnavailable("the store is not open")
        pending = self._writer.submit(
            lambda connection: _driven(use(_runner(connection))), is_durable=is_durable
        )
        try:
            return await awaited(pending, TIMEOUT_SECONDS)
        except TimeoutError:
            raise StoreUnavailable("the file of the store does not answer in time") from None
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"SQLite failed: {error}") from error


def _runner(connection: sqlite3.Connection) -> Run:
    async def run(statement: str, values: Sequence[Any]) -> Rows:
        named = {str(number): value for number, value in enumerate(values, start=1)}
        return connection.execute(statement, named).fetchall()

    return run


def _driven(coroutine: Awaitable[T]) -> T:
    """The result of a coroutine that never waits: its statements run in the writer's thread."""
    steps = coroutine.__await__()
    try:
        next(steps)
    except StopIteration as ended:
        value: T = ended.value
        return value
    raise AssertionError("a use of the SQLite store awaited something other than its statements")


def lies_on_the_network(path: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Return whether a file lies on a file system that machines share; False where that cannot be read."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return False
    where = str(path.resolve())
    best, kind = "", ""
    for line in lines:
        _, point, file_system, *_ = line.split(" ")
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, file_system
    return kind in NETWORK_FILE_SYSTEMS


def sqlite_store(path: Path) -> SqlStore:
    """The store in this file."""
    return SqlStore(SqliteDriver(path), now=CLOCK, binary="BLOB", ended="hansa_has_ended(owner)")
