"""A connection to PostgreSQL, and the guard against commits that no synchronous standby has.

With synchronous replication a commit waits for the standbys before it is visible. Three events make PostgreSQL give up that
wait and show the rows of one server alone: a cancelled statement, a connection that its administrator ends, a restart. A
failover then loses these rows. So nothing is answered, published or signed from them:

- A statement that may commit is never cancelled: its connection is terminated, and the server goes on waiting.
- A new connection makes a commit that waits. Replication is in order: afterwards the standbys have all rows it can see.
- An answer that rests on rows of an earlier transaction is given after a commit that waits (`await_standbys`).
- A commit for which PostgreSQL gave up waiting raises CommitNotReplicated.

Without synchronous standbys none of this writes anything.
"""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from weakref import WeakSet

import asyncpg
import structlog
from asyncpg.pool import PoolConnectionProxy

from hansa.foundation.plumbing.telemetry.tracing import tracing

from .hosts import ACQUIRE_SECONDS, avoid, connect_to_writer

if TYPE_CHECKING:
    _Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

Tx: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"

STATEMENT_SECONDS = 40
CLOSE_SECONDS = 1.0
SERVER_SETTINGS = {
    "application_name": "hansa",
    "timezone": "UTC",
    "jit": "off",
    "lock_timeout": "5s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "30s",
}

_AWAIT_STANDBYS = """
SELECT pg_logical_emit_message(true, 'hansa', '') WHERE current_setting('synchronous_standby_names') <> ''
"""
# The function of the server that waits for the standbys reports a wait that it gave up as a warning.
_WAITS = "SyncRepWaitForLSN"

# A host that is switched off sends no end of its connections: the system asks it after 10 s without a byte, and gives up after 20.
_KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 2, "TCP_USER_TIMEOUT": 20_000}

# Sessions of the registry's processes have the application name of SERVER_SETTINGS.
_OTHER_SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'hansa' AND pid <> pg_backend_pid()
"""

_log = structlog.get_logger()
_closing: set[asyncio.Task[None]] = set()
_open: "WeakSet[DatabaseConnection]" = WeakSet()


class CommitNotReplicated(Exception):
    """The transaction is committed at this server; PostgreSQL gave up waiting for the synchronous standbys."""


class NotConnected(Exception):
    """The server answered and refused the connection: it accepts none now, or not for this role or database."""


class DatabaseConnection(_Connection):
    """A connection that ends when a statement is interrupted whose commit may wait for a standby."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cluster = self.host = ""
        """The connection strings of the database and of its server, which `connect` sets."""
        self._may_commit = False
        self._has_given_up = False

    async def begin(self) -> None:
        """Make a commit that waits; nothing rests on it yet, so it may be cancelled. Raises: CommitNotReplicated."""
        await super().execute(_AWAIT_STANDBYS, timeout=ACQUIRE_SECONDS)
        self.require_replicated()

    def expect_commit(self) -> None:
        """From now on an interrupted statement ends the connection; until it is released."""
        self._may_commit = True

    def require_replicated(self) -> None:
        """Raises: CommitNotReplicated, when PostgreSQL gave up waiting since the connection was acquired."""
        if self._has_given_up:
            raise CommitNotReplicated

    def be_released(self) -> None:
        """Forget the acts of the connection's last user."""
        self._may_commit = self._has_given_up = False

    def _cancel_current_command(self, *waiters: "asyncio.Future[None]") -> None:
        # asyncpg asks the server to cancel a statement here, after a timeout or a cancelled task.
        if self._may_commit:
            asyncio.get_running_loop().call_soon(self.terminate)
        else:
            super()._cancel_current_command(*waiters)  # type: ignore[misc]

    def _process_log_message(self, fields: Mapping[str, str], last_query: str) -> None:
        if fields.get("R") == _WAITS:
            self._has_given_up = True
        super()._process_log_message(fields, last_query)  # type: ignore[misc]


async def connect(
    dsn: str,
    *,
    connection_class: type[DatabaseConnection] = DatabaseConnection,
    **_of_the_pool: object,
) -> DatabaseConnection:
    """Open a connection to a server that writes, and whose rows the synchronous standbys have.

    No session outlives the recovery of its server, and one that recovers is refused here: no statement meets a recovery. Where the
    server is another host of a cluster than before, connections to the former end.

    Raises: OUT_OF_REACH of `database.py`.
    """
    try:
        opened, host = await connect_to_writer(
            dsn,
            command_timeout=STATEMENT_SECONDS,
            # A statement that is used again after a while need not be planned anew; the cache is bounded by its size.
            max_cached_statement_lifetime=0,
            server_settings=SERVER_SETTINGS,
            connection_class=connection_class,
        )
    except asyncpg.PostgresError as error:
        raise NotConnected(str(error)) from error
    connection = cast("DatabaseConnection", opened)
    connection.cluster, connection.host = dsn, host
    _keep_alive(connection)
    if tracing.is_on:
        connection.add_query_logger(tracing.statement)
    try:
        await connection.begin()
    except BaseException:
        avoid(dsn, host)
        # Ended beside this task, which may have to answer within a time.
        closing = asyncio.create_task(_close(connection))
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)
        raise
    _leave_other_hosts(dsn, host)
    _open.add(connection)
    return connection


def _leave_other_hosts(dsn: str, host: str) -> None:
    """End the connections of this process to the other hosts of a cluster: this one writes now."""
    for connection in list(_open):
        if connection.cluster == dsn and connection.host != host:
            connection.terminate()


def _keep_alive(connection: DatabaseConnection) -> None:
    end = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # noqa: SLF001
    if end.family == socket.AF_UNIX:
        return
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        # Some systems have not all of them.
        if (option := getattr(socket, name, None)) is not None:
            end.setsockopt(socket.IPPROTO_TCP, option, value)


async def _close(connection: DatabaseConnection) -> None:
    with suppress(Exception):
        await connection.close(timeout=CLOSE_SECONDS)


async def await_standbys(tx: Tx) -> None:
    """Make the commit of this transaction wait for the synchronous standbys, even if it only reads.

    After the commit the standbys have every row that the transaction could see.
    """
    await tx.execute(_AWAIT_STANDBYS)


async def has_other_sessions(tx: Tx) -> bool:
    """Return whether another process of the registry is connected, on any machine: one that serves has a session at all times."""
    count: int = await tx.fetchval(_OTHER_SESSIONS)
    return count > 0


def log_lost_connections(loop: asyncio.AbstractEventLoop) -> None:
    """Let the loop log one line, and no traceback, for a lost connection that nobody awaits any more.

    A task that is cancelled in the same turn in which its connection is lost leaves the error of the driver to the loop.
    """

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, asyncpg.PostgresConnectionError):
            _log.warning("a connection to the database was lost", reason=str(error))
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
