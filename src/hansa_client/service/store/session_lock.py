"""Running processes of a PostgreSQL: each holds an advisory lock by a session of its own until it ends.

- The server releases the lock when the session ends: at once when the process ends, within half a minute when its
  machine does. A process that is stopped or slow keeps it.
- A session that is cut is opened again; until it holds the lock, the process claims nothing.
- A pooler that shares sessions between clients must not lie between: the lock belongs to the session.
"""

import asyncio
import contextlib
import logging
import secrets
from typing import TYPE_CHECKING, Any

from .entry import StoreUnavailable

if TYPE_CHECKING:
    import asyncpg

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 5.0
PAUSE_SECONDS_MAX = 2.0
SETTINGS = {
    "application_name": "hansa paid service",
    "lock_timeout": "4000",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
STAY = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN ('idle_session_timeout', 'statement_timeout')"
KEY = "('x' || left({name}, 16))::bit(64)::bigint"
LOCK = f"SELECT pg_advisory_lock({KEY.format(name='$1::text')})"
SESSION_ENDED = f"pg_try_advisory_xact_lock_shared({KEY.format(name='owner')})"


class SessionLock:
    """The lock of this process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._name = secrets.token_hex(8)
        self._connection: asyncpg.Connection[Any] | None = None
        self._reopening: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The name of this process. Raises: StoreUnavailable while the lock is not held."""
        if self._connection is None or self._connection.is_closed():
            raise StoreUnavailable("the session that holds the lock of this process was cut")
        return self._name

    async def acquire(self) -> None:
        """Open the session and take the lock. Raises: StoreUnavailable."""
        import asyncpg

        connection = None
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS * 2):
                connection = await asyncpg.connect(self._url, server_settings=SETTINGS)
                await connection.execute(STAY)
                await connection.fetchval(LOCK, self._name)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            if connection:
                connection.terminate()
            raise StoreUnavailable(
                f"the lock of this process cannot be taken: {type(error).__name__}"
            ) from error
        connection.add_termination_listener(self._reopen)
        self._connection = connection

    async def release(self) -> None:
        """End the session; entries that this process still owned count as those of a process that ended."""
        connection, self._connection = self._connection, None
        if self._reopening:
            self._reopening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reopening
        if connection:
            connection.remove_termination_listener(self._reopen)
            await connection.close(timeout=TIMEOUT_SECONDS)

    def _reopen(self, ended: object) -> None:
        if ended is self._connection:
            log.warning("the session that holds the lock of this process was cut; it is opened again")
            self._reopening = asyncio.get_running_loop().create_task(self._acquire_again())

    async def _acquire_again(self) -> None:
        pause = 0.1
        while True:
            try:
                await self.acquire()
            except StoreUnavailable:
                await asyncio.sleep(pause)
                pause = min(pause * 2, PAUSE_SECONDS_MAX)
            else:
                return
