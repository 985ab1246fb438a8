"""The store on PostgreSQL, by asyncpg: for a service of several machines."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .entry import StoreUnavailable
from .session_lock import SESSION_ENDED, SessionLock
from .sql import Run, SqlStore

if TYPE_CHECKING:
    import asyncpg

T = TypeVar("T")

POOL_SIZE = 8
TIMEOUT_SECONDS = 5.0
SCHEMA_LOCK = 0x68616E7361
CLOCK = "extract(epoch from clock_timestamp())::float8"


class PostgresDriver:
    """A pool of connections; each use is one transaction."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = SessionLock(url)
        self._pool: asyncpg.Pool[Any] | None = None

    @property
    def process(self) -> str:
        """The name of this process. Raises: StoreUnavailable while its lock is not held."""
        return self._lock.name

    async def open(self) -> None:
        """Connect. Two processes that start at once create the tables one after the other."""
        import asyncpg

        limits = {"statement_timeout": "4000", "lock_timeout": "4000"}
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS * 2):
                self._pool = await asyncpg.create_pool(
                    self._url, min_size=1, max_size=POOL_SIZE, server_settings=limits
                )
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise StoreUnavailable(f"PostgreSQL does not answer: {type(error).__name__}") from error
        await self._lock.acquire()

    async def close(self) -> None:
        """End the connections; those that do not end in time are cut."""
        if not self._pool:
            return
        await self._lock.release()
        pool, self._pool = self._pool, None
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await pool.close()
        except TimeoutError:
            pool.terminate()

    async def within(self, use: Callable[[Run], Awaitable[T]], *, is_durable: bool = True) -> T:
        """See Driver. Everything is durable: the server may fail alone, and the machines of the service go on."""
        import asyncpg

        del is_durable
        if not self._pool:
            raise StoreUnavailable("the store is not open")
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                self._pool.acquire() as connection,
                connection.transaction(),
            ):

                async def run(statement: str, values: Sequence[Any]) -> list[Any]:
                    if statement.startswith("CREATE"):
                        await connection.execute("SELECT pg_advisory_xact_lock($1)", SCHEMA_LOCK)
                    return await connection.fetch(statement, *values)

                return await use(run)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise StoreUnavailable(f"PostgreSQL failed: {type(error).__name__}") from error


def postgres_store(url: str) -> SqlStore:
    """The store in the database of this URL."""
    return SqlStore(PostgresDriver(url), now=CLOCK, binary="BYTEA", ended=SESSION_ENDED)
