"""The database: one pool, whole transactions, retried whole when PostgreSQL asks for it.

- A use case takes a `Tx` and never commits; the edge calls `act`, which commits before it returns.
- Serialization failures and deadlocks repeat the whole transaction; a database out of reach is a 503.
- What a process asks every few seconds has a connection beside the pool (`look_again`).
- Server timeouts are set on every connection: the defaults are all "never".
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from hansa.foundation.values.errors import Invalid, Unavailable

Tx: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"
Result = TypeVar("Result")

LOWEST_POSTGRESQL = 15
TRIES = 12
ACQUIRE_SECONDS = 5.0
STATEMENT_SECONDS = 40
RELEASE_SECONDS = 5.0
SERVER_SETTINGS = {
    "application_name": "hansa",
    "timezone": "UTC",
    "jit": "off",
    "lock_timeout": "5s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "30s",
}
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
    OSError,
    TimeoutError,
)


class Database:
    """A pool of connections to one PostgreSQL database."""

    def __init__(self, dsn: str, *, pool_size: int = 16) -> None:
        self.dsn = dsn
        self._pool_size = pool_size
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._again: asyncpg.Connection[asyncpg.Record] | None = None
        self._again_turn = asyncio.Lock()
        self._interrupted: set[int] = set()
        """The server processes of connections on which a statement was broken off."""

    async def open(self) -> None:
        """Connect. Raises: Unavailable."""
        try:
            self._pool = await asyncpg.create_pool(
                self.dsn,
                min_size=1,
                max_size=self._pool_size,
                timeout=ACQUIRE_SECONDS,
                command_timeout=STATEMENT_SECONDS,
                max_inactive_connection_lifetime=0,
                max_queries=2**31,
                # A statement that is used again after a while need not be planned anew; the cache is bounded by its size.
                max_cached_statement_lifetime=0,
                server_settings=SERVER_SETTINGS,
                reset=self._reset,
            )
        except OUT_OF_REACH as trouble:
            raise Unavailable(f"The database cannot be reached: {type(trouble).__name__}.") from trouble

    async def close(self) -> None:
        """Wait for transactions under way, then disconnect."""
        self._end_again()
        if self._pool is not None:
            try:
                async with asyncio.timeout(5):
                    await self._pool.close()
            except TimeoutError:
                self._pool.terminate()
            self._pool = None

    async def act(self, use_case: Callable[[Tx], Awaitable[Result]], *, one_snapshot: bool = False) -> Result:
        """Run `use_case` in one transaction and commit it; the answer is durable when this returns.

        With `one_snapshot` all its statements see the same moment (REPEATABLE READ); a unique key that another transaction
        took after that moment is a conflict as any other, and the whole is repeated.

        Raises: whatever the use case raises (rolled back), Unavailable when the database cannot be reached: a commit
        may then have happened, which an idempotency key settles.
        """
        isolation: Literal["repeatable_read"] | None = "repeatable_read" if one_snapshot else None

        async def once() -> Result:
            try:
                async with self._connection() as connection, connection.transaction(isolation=isolation):
                    return await use_case(connection)
            except asyncpg.UniqueViolationError as trouble:
                if one_snapshot:
                    raise asyncpg.SerializationError("a unique key was taken after the snapshot") from trouble
                raise

        return await _until_it_stands(once)

    async def act_at_once(self, statement: Callable[[Tx], Awaitable[Result]]) -> Result:
        """As `act`, for a single statement, which is a transaction of its own: one round trip instead of three."""
        async with self.lane() as lane:
            return await lane.act_at_once(statement)

    @asynccontextmanager
    async def lane(self) -> AsyncIterator["Lane"]:
        """One connection kept for statements that follow each other closely. Raises: Unavailable."""
        try:
            async with self._connection() as connection:
                yield Lane(connection)
        except OUT_OF_REACH as trouble:
            raise Unavailable(retry_after=1) from trouble

    async def read(self, query: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run `query` on one consistent snapshot; nothing is written."""
        try:
            async with (
                self._connection() as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                return await query(connection)
        except OUT_OF_REACH as trouble:
            raise Unavailable(retry_after=1) from trouble
        except asyncpg.DataError as trouble:
            raise Invalid("A value cannot be stored by the database.") from trouble

    async def look(self, statement: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run one reading statement, a snapshot of its own: one round trip where `read` takes three."""
        try:
            async with self._connection() as connection:
                return await statement(connection)
        except OUT_OF_REACH as trouble:
            raise Unavailable(retry_after=1) from trouble
        except asyncpg.DataError as trouble:
            raise Invalid("A value cannot be stored by the database.") from trouble

    async def look_again(self, statement: Callable[[Tx], Awaitable[Result]]) -> Result:
        """As `look`, for statements that are repeated every few seconds, one after the other: half the work of one from the pool.

        Raises: Unavailable; the next call connects again.
        """
        if self._pool is None:
            raise Unavailable(retry_after=1)
        async with self._again_turn:
            try:
                if self._again is None or self._again.is_closed():
                    self._again = await asyncpg.connect(
                        self.dsn,
                        timeout=ACQUIRE_SECONDS,
                        command_timeout=STATEMENT_SECONDS,
                        max_cached_statement_lifetime=0,
                        server_settings=SERVER_SETTINGS,
                    )
                return await statement(self._again)
            except asyncio.CancelledError:
                self._end_again()
                raise
            except OUT_OF_REACH as trouble:
                self._end_again()
                raise Unavailable(retry_after=1) from trouble

    def _end_again(self) -> None:
        """Let the connection of repeated statements go; one that is interrupted is not used again."""
        if self._again is not None:
            self._again.terminate()
            self._again = None

    async def now(self) -> datetime:
        """The database's time."""
        moment: datetime = await self.look(lambda tx: tx.fetchval("SELECT clock_timestamp()"))
        return moment

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Tx]:
        if self._pool is None:
            raise Unavailable(retry_after=1)
        # The pool's own timeout would make a task for each request.
        async with asyncio.timeout(ACQUIRE_SECONDS):
            connection = await self._pool.acquire()
        process = connection.get_server_pid()
        try:
            yield connection
        except (asyncio.CancelledError, TimeoutError):
            self._interrupted.add(process)
            raise
        finally:
            if process in self._interrupted:
                await self._release_interrupted(connection, self._pool)
                self._interrupted.discard(process)
            else:
                await self._pool.release(connection)

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
        if connection.get_server_pid() in self._interrupted:
            await connection.execute("ROLLBACK")


class Lane:
    """A connection on which each statement is a transaction of its own."""

    def __init__(self, connection: Tx) -> None:
        self._connection = connection

    async def act_at_once(self, statement: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run one statement and commit it. Raises: as `Database.act`; after Unavailable the lane may be broken."""
        return await _until_it_stands(lambda: statement(self._connection))


async def _until_it_stands(transaction: Callable[[], Awaitable[Result]]) -> Result:
    """Run a transaction again while PostgreSQL finds that it conflicts with another. Raises: as `Database.act`."""
    for attempt in range(1, TRIES + 1):
        try:
            return await transaction()
        except RETRIED:
            if attempt == TRIES:
                raise Unavailable(retry_after=1) from None
            await asyncio.sleep(random.uniform(0, 0.002 * 2**attempt))  # noqa: S311
        except OUT_OF_REACH as trouble:
            raise Unavailable(retry_after=1) from trouble
        except asyncpg.DataError as trouble:
            # The guards stop hostile text at the door; what slips past them is still the sender's mistake.
            raise Invalid("A value cannot be stored by the database.") from trouble
    raise AssertionError("unreachable")


async def require_reachable(dsn: str, variable: str = "") -> None:
    """Connect once. Raises: Unavailable, naming the variable, the address and the trouble, never the password; also for an old server."""
    try:
        connection = await asyncpg.connect(dsn, timeout=ACQUIRE_SECONDS)
        version = connection.get_server_version()
        await connection.close()
    except (*OUT_OF_REACH, asyncpg.PostgresError, ValueError) as trouble:
        place = f"{variable}: " if variable else ""
        raise Unavailable(f"{place}cannot connect to {address_of(dsn)}: {_reason(trouble)}") from trouble
    if version.major < LOWEST_POSTGRESQL:
        raise Unavailable(
            f"The database at {address_of(dsn)} is PostgreSQL {version.major}.{version.micro};"
            f" PostgreSQL {LOWEST_POSTGRESQL} or later is required."
        )


def _reason(trouble: Exception) -> str:
    """What went wrong, in the words of the system or the server."""
    if isinstance(trouble, TimeoutError):
        return f"no answer within {ACQUIRE_SECONDS:.0f} s"
    if isinstance(trouble, OSError) and "Connect call failed" in str(trouble):
        return "connection refused"
    if isinstance(trouble, OSError) and trouble.strerror:
        return trouble.strerror.lower()
    return " ".join(str(trouble).split()) or type(trouble).__name__


def address_of(dsn: str) -> str:
    """Where the database is, without the password."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2] or ",".join(parse_qs(parts.query).get("host", []))
    return f"{host}{parts.path}"
