"""The database: one pool, whole transactions, retried whole when PostgreSQL asks for it.

- A use case takes a `Tx` and never commits; the edge calls `act`, which commits before it returns.
- Serialization failures and deadlocks repeat the whole transaction; a database out of reach is a 503.
- A server that does not write is out of reach as well, and its connections are replaced.
- A statement that a process repeats every few seconds has a connection beside the pool (`look_again`).
- Server timeouts are set on every connection: the defaults are all "never".
- Commits wait for the synchronous standbys (`connection.py`).
- The database may be a cluster of several hosts (`hosts.py`).
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import parse_qs, urlsplit

import asyncpg

from hansa.foundation.plumbing.telemetry.metrics import (
    commit_seconds,
    connection_wait_seconds_total,
    connection_waits_total,
    connections_in_use,
)
from hansa.foundation.values.errors import Invalid, Unavailable

from .connection import (
    CommitNotReplicated,
    DatabaseConnection,
    NotConnected,
    Tx,
    await_standbys,
    connect,
)
from .hosts import ACQUIRE_SECONDS, connect_to_writer, one_for_each_host
from .poolers import pools_transactions

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

__all__ = ["OUT_OF_REACH", "Database", "PinnedConnection", "Tx", "await_standbys"]

Result = TypeVar("Result")

LOWEST_POSTGRESQL = 15
TRIES = 12
RELEASE_SECONDS = 5.0
# How soon a process notices that another host of its cluster writes, while the former one keeps its connections and is silent.
WATCH_SECONDS, SILENT_SECONDS, AGAIN_SECONDS = 2.0, 2.0, 0.5
RETRIED = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
OUT_OF_REACH = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # What a connection answers whose server ended while it was idle.
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.PostgresSystemError,
    # A server that is a standby, or that its operator made read-only.
    asyncpg.ReadOnlySQLTransactionError,
    CommitNotReplicated,
    NotConnected,
    OSError,
    TimeoutError,
)
_READ_ONLY = (asyncpg.ReadOnlySQLTransactionError, asyncpg.TargetServerAttributeNotMatched)


class Database:
    """A pool of connections to one PostgreSQL database."""

    def __init__(self, dsn: str, *, pool_size: int = 16) -> None:
        self.dsn = dsn
        self._pool_size = pool_size
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._again: DatabaseConnection | None = None
        self._again_turn = asyncio.Lock()
        self._are_replaced = False
        self._watch: asyncio.Task[None] | None = None
        self._in_use = 0
        self._interrupted: set[int] = set()
        """The server processes of connections on which a statement was broken off."""

    async def open(self) -> None:
        """Connect. Raises: Unavailable."""
        try:
            self._pool = await asyncpg.create_pool(
                self.dsn,
                connect=cast("Any", connect),
                connection_class=DatabaseConnection,
                # With a least size, the pool itself would connect again during an outage, with a traceback for each attempt.
                min_size=0,
                max_size=self._pool_size,
                max_inactive_connection_lifetime=0,
                max_queries=2**31,
                reset=self._reset,
            )
            await self._pool.release(await self._pool.acquire())
        except OUT_OF_REACH as error:
            raise Unavailable(f"The database cannot be reached: {_reason(error)}.") from error
        if len(one_for_each_host(self.dsn)) > 1:
            self._watch = asyncio.create_task(self._follow_writer())

    async def close(self) -> None:
        """Wait for transactions under way, then disconnect."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._end_again()
        if self._pool is not None:
            try:
                async with asyncio.timeout(5):
                    await self._pool.close()
            except TimeoutError:
                self._pool.terminate()
            self._pool = None

    async def transaction(
        self, use_case: Callable[[Tx], Awaitable[Result]], *, one_snapshot: bool = False
    ) -> Result:
        """Run `use_case` in one transaction and commit it; the answer is durable when this returns.

        With `one_snapshot` all its statements see the same moment (REPEATABLE READ); a unique key that another transaction
        took after that moment is a conflict as any other, and the whole is repeated.

        Raises: whatever the use case raises (rolled back), Unavailable when the database cannot be reached: a commit
        may then have happened, which an idempotency key settles.
        """
        isolation: Literal["repeatable_read"] | None = "repeatable_read" if one_snapshot else None

        async def once() -> Result:
            try:
                async with self._connection() as connection:
                    # Bound now: the pool forgets a connection that ends meanwhile, and what the server said stays known.
                    expect_commit, require_replicated = (
                        connection.expect_commit,
                        connection.require_replicated,
                    )
                    async with connection.transaction(isolation=isolation):
                        result = await use_case(connection)
                        # Until here an interruption rolls back; the commit itself is not to be cancelled.
                        expect_commit()
                        ended = perf_counter()
                    commit_seconds.observe(perf_counter() - ended)
                    require_replicated()
                    return result
            except asyncpg.UniqueViolationError as error:
                if one_snapshot:
                    raise asyncpg.SerializationError("a unique key was taken after the snapshot") from error
                raise

        return await self.until_it_stands(once)

    async def execute(self, statement: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run a single statement, which is a transaction of its own: one round trip instead of the three of `transaction`."""
        async with self.pinned() as pinned:
            return await pinned.execute(statement)

    @asynccontextmanager
    async def pinned(self) -> AsyncIterator["PinnedConnection"]:
        """One connection kept for statements that follow each other closely. Raises: Unavailable."""
        with self._reached():
            async with self._connection() as connection:
                connection.expect_commit()
                yield PinnedConnection(self, connection)

    async def read(self, query: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run `query` on one consistent snapshot; nothing is written."""
        with self._reached():
            async with (
                self._connection() as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                return await query(connection)

    async def read_replicated(self, query: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Read, like `read`, rows that are signed or published: the synchronous standbys have them when this returns."""
        with self._reached():
            async with self._connection() as connection:
                require_replicated = connection.require_replicated
                async with connection.transaction(isolation="repeatable_read", readonly=True):
                    result = await query(connection)
                    await await_standbys(connection)
                require_replicated()
                return result

    async def query(self, statement: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run one reading statement, a snapshot of its own: one round trip where `read` takes three."""
        with self._reached():
            async with self._connection() as connection:
                return await statement(connection)

    async def query_again(self, statement: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run a statement that is repeated every few seconds, one after the other: half the work of `query`, which uses the pool.

        Raises: Unavailable; the next call connects again.
        """
        if self._pool is None:
            raise Unavailable(retry_after=1)
        async with self._again_turn:
            try:
                with self._reached():
                    if self._again is None or self._again.is_closed():
                        self._again = await connect(self.dsn)
                    return await statement(self._again)
            except (asyncio.CancelledError, Unavailable):
                self._end_again()
                raise

    def _end_again(self) -> None:
        """Let the connection of repeated statements go; one that is interrupted is not used again."""
        if self._again is not None:
            self._again.terminate()
            self._again = None

    async def _follow_writer(self) -> None:
        """Find out when another host writes: a new connection to it ends those to a former one that is silent."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                async with asyncio.timeout(SILENT_SECONDS):
                    await self.query_again(lambda tx: tx.fetchval("SELECT 1"))
            except (TimeoutError, Unavailable):
                await self._find_writer()

    async def _find_writer(self) -> None:
        while True:
            with suppress(*OUT_OF_REACH):
                async with asyncio.timeout(SILENT_SECONDS):
                    (await connect(self.dsn)).terminate()
                    return
            await asyncio.sleep(AGAIN_SECONDS)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Raises: Unavailable, when the database cannot be reached or does not write; Invalid, when it cannot store a value."""
        try:
            yield
        except OUT_OF_REACH as error:
            if isinstance(error, _READ_ONLY):
                raise self._unwritable() from error
            if isinstance(error, CommitNotReplicated):
                self._replace_connections()
            raise Unavailable(retry_after=1) from error
        except asyncpg.DataError as error:
            # The guards stop hostile text at the door; what slips past them is still the sender's mistake.
            raise Invalid("A value cannot be stored by the database.") from error

    def _unwritable(self) -> Unavailable:
        self._replace_connections()
        return Unavailable("The database does not accept writes at the moment.", retry_after=1)

    def _replace_connections(self) -> None:
        """Use no present connection for another transaction: a new one requires a server that writes."""
        self._end_again()
        self._are_replaced = True

    async def until_it_stands(self, transaction: Callable[[], Awaitable[Result]]) -> Result:
        """Run a transaction again while PostgreSQL finds that it conflicts with another. Raises: as `act`."""
        for attempt in range(1, TRIES + 1):
            try:
                with self._reached():
                    return await transaction()
            except RETRIED:
                if attempt == TRIES:
                    raise Unavailable(retry_after=1) from None
                await asyncio.sleep(random.uniform(0, 0.002 * 2**attempt))  # noqa: S311
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def _connection(self) -> "AsyncIterator[DatabaseConnection]":
        if self._pool is None:
            raise Unavailable(retry_after=1)
        if self._are_replaced:
            self._are_replaced = False
            await self._pool.expire_connections()
        connection = await self._acquire(self._pool)
        process = connection.get_server_pid()
        self._in_use += 1
        connections_in_use.inc()
        try:
            # The proxy of the pool has every member of the connection.
            yield cast("DatabaseConnection", connection)
        except (asyncio.CancelledError, TimeoutError):
            self._interrupted.add(process)
            raise
        finally:
            try:
                await self._release(connection, self._pool, process)
            finally:
                self._in_use -= 1
                connections_in_use.dec()

    async def _release(
        self,
        connection: "PoolConnectionProxy[asyncpg.Record]",
        pool: "asyncpg.Pool[asyncpg.Record]",
        process: int,
    ) -> None:
        if process in self._interrupted:
            await self._release_interrupted(connection, pool)
            self._interrupted.discard(process)
        else:
            await pool.release(connection)

    async def _acquire(self, pool: "asyncpg.Pool[asyncpg.Record]") -> "PoolConnectionProxy[asyncpg.Record]":
        is_waited_for, began = self._in_use >= self._pool_size, perf_counter()
        try:
            # The pool's own timeout would make a task for each request.
            async with asyncio.timeout(ACQUIRE_SECONDS):
                return await pool.acquire()
        finally:
            if is_waited_for:
                connection_waits_total.inc()
                connection_wait_seconds_total.inc(perf_counter() - began)

    @staticmethod
    async def _release_interrupted(
        connection: "PoolConnectionProxy[asyncpg.Record]", pool: "asyncpg.Pool[asyncpg.Record]"
    ) -> None:
        # The server is asked to cancel the statement, and may never reply: it is stopped, or its machine is gone. The
        # connection is then closed, and what interrupted the statement goes on.
        with suppress(*OUT_OF_REACH):
            await pool.release(connection, timeout=RELEASE_SECONDS)

    async def _reset(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        """Make a connection good for its next user.

        Every transaction ends before its connection returns and only SET LOCAL is used: mostly there is nothing to do.
        A statement that is broken off while it is being prepared leaves the server in an implicit transaction that the
        client does not know of; the next one could not begin a transaction of its own.
        """
        cast("DatabaseConnection", connection).be_released()
        if connection.get_server_pid() in self._interrupted:
            await connection.execute("ROLLBACK")


class PinnedConnection:
    """A connection on which each statement is a transaction of its own."""

    def __init__(self, database: Database, connection: DatabaseConnection) -> None:
        self._database = database
        self._connection = connection

    async def execute(self, statement: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run one statement and commit it. Raises: as `Database.transaction`; after Unavailable the connection may be broken."""

        async def once() -> Result:
            # A pinned connection that has lost its connection has none of these methods, and refuses the statement.
            require_replicated = getattr(self._connection, "require_replicated", None)
            result = await statement(self._connection)
            if require_replicated is not None:
                require_replicated()
            return result

        return await self._database.until_it_stands(once)


async def require_reachable(dsn: str, variable: str = "") -> None:
    """Connect once.

    Raises: Unavailable, naming the variable, the address and the error, never the password; also for an old server and a
    pooler of transactions.
    """
    try:
        connection, _ = await connect_to_writer(dsn, command_timeout=ACQUIRE_SECONDS)
        version = connection.get_server_version()
        are_shared = version.major >= LOWEST_POSTGRESQL and await pools_transactions(connection, dsn)
        await connection.close()
    except (*OUT_OF_REACH, asyncpg.PostgresError, ValueError) as error:
        place = f"{variable}: " if variable else ""
        raise Unavailable(f"{place}cannot connect to {address_of(dsn)}: {_reason(error)}") from error
    if version.major < LOWEST_POSTGRESQL:
        raise Unavailable(
            f"The database at {address_of(dsn)} is PostgreSQL {version.major}.{version.micro};"
            f" PostgreSQL {LOWEST_POSTGRESQL} or later is required."
        )
    if are_shared:
        raise Unavailable(
            f"A pooler of transactions answers at {address_of(dsn)}: name PostgreSQL itself, or pool sessions (pool_mode=session)."
        )


def _reason(error: Exception) -> str:
    """Return the cause of an error, in the words of the system or the server."""
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "the server is read-only"
    if isinstance(error, TimeoutError):
        return f"no answer within {ACQUIRE_SECONDS:.0f} s"
    if isinstance(error, OSError) and "Connect call failed" in str(error):
        return "connection refused"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return " ".join(str(error).split()) or type(error).__name__


def address_of(dsn: str) -> str:
    """Return the address of the database, without the password."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2] or ",".join(parse_qs(parts.query).get("host", []))
    return f"{host}{parts.path}"
