"""A database whose statements fail, each once, by a chosen fault: at the server, before it, behind it, on the wire.

The connections are real ones; only the fate of the chosen statement is arranged. BEGIN, COMMIT and ROLLBACK are
statements like every other.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Any

import asyncpg

from hansa.foundation.plumbing.storage.connection import DatabaseConnection
from hansa.foundation.plumbing.storage.database import Database
from tests.properties.scale import by_tier

_REFUSE = "DO $$ BEGIN RAISE EXCEPTION 'the statement is cancelled' USING ERRCODE = 'query_canceled'; END $$"
_LAST_SECONDS = 0.02
KILL_MILLISECONDS = 10_000


class Fault(Enum):
    """How a statement fails."""

    REFUSED = "the server raises an error instead"
    KILLED_BEFORE = "the connection is killed before it"
    KILLED_AFTER = "the connection is killed after its answer"
    ANSWER_LOST = "the server carries it out and the answer is lost"
    TOO_LATE = "it takes too long and is called off"
    ANSWER_TOO_LATE = "the server carries it out and the answer comes too late"


def in_turn(number: int, few: Sequence[Fault]) -> tuple[Fault, ...]:
    """How statement `number` fails: for each commit by one of these faults, which take turns; else by each fault there is."""
    return by_tier((few[number % len(few)],), tuple(Fault), tuple(Fault))


class Plan:
    """Number of the statement that fails, counted from now on; without one, statements are only listed."""

    def __init__(self, observer: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._observer = observer
        self._fails_at: int | None = None
        self._fault = Fault.REFUSED
        self.listed: list[str] = []

    def watch(self) -> None:
        """Let every statement pass and list it."""
        self.fail(None, Fault.REFUSED)

    def fail(self, number: int | None, fault: Fault) -> None:
        """Let statement `number` fail; the first one has number 0."""
        self.listed, self._fails_at, self._fault = [], number, fault

    @property
    def has_failed(self) -> bool:
        return self._fails_at is not None and len(self.listed) > self._fails_at

    async def meet(
        self, connection: "FailingConnection", statement: str, run: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Carry the statement out, or let it fail."""
        self.listed.append(" ".join(statement.split()))
        if len(self.listed) - 1 != self._fails_at:
            return await run()
        return await _FAILURES[self._fault](self, connection, run)

    async def kill(self, connection: "FailingConnection") -> None:
        pid = connection.get_server_pid()
        assert await self._observer.fetchval("SELECT pg_terminate_backend($1, $2)", pid, KILL_MILLISECONDS)


class FailingConnection(DatabaseConnection):
    """A connection of a pool under a plan."""

    plan: Plan

    async def execute(self, query: str, *args: Any, **more: Any) -> Any:
        return await self.plan.meet(
            self, query, lambda: DatabaseConnection.execute(self, query, *args, **more)
        )

    async def fetch(self, query: str, *args: Any, **more: Any) -> Any:
        return await self.plan.meet(self, query, lambda: DatabaseConnection.fetch(self, query, *args, **more))

    async def fetchrow(self, query: str, *args: Any, **more: Any) -> Any:
        return await self.plan.meet(
            self, query, lambda: DatabaseConnection.fetchrow(self, query, *args, **more)
        )

    async def fetchval(self, query: str, *args: Any, **more: Any) -> Any:
        return await self.plan.meet(
            self, query, lambda: DatabaseConnection.fetchval(self, query, *args, **more)
        )

    async def fetchmany(self, query: str, *args: Any, **more: Any) -> Any:
        return await self.plan.meet(
            self, query, lambda: DatabaseConnection.fetchmany(self, query, *args, **more)
        )


async def _refused(plan: Plan, connection: FailingConnection, run: Callable[[], Awaitable[Any]]) -> Any:
    await DatabaseConnection.execute(connection, _REFUSE)


async def _killed_before(plan: Plan, connection: FailingConnection, run: Callable[[], Awaitable[Any]]) -> Any:
    await plan.kill(connection)
    return await run()


async def _killed_after(plan: Plan, connection: FailingConnection, run: Callable[[], Awaitable[Any]]) -> Any:
    answer = await run()
    await plan.kill(connection)
    return answer


async def _answer_lost(plan: Plan, connection: FailingConnection, run: Callable[[], Awaitable[Any]]) -> Any:
    await run()
    connection.terminate()
    raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")


async def _too_late(plan: Plan, connection: FailingConnection, run: Callable[[], Awaitable[Any]]) -> Any:
    await DatabaseConnection.execute(connection, "SELECT pg_sleep(60)", timeout=_LAST_SECONDS)


async def _answer_too_late(
    plan: Plan, connection: FailingConnection, run: Callable[[], Awaitable[Any]]
) -> Any:
    await run()
    raise TimeoutError


_FAILURES = {
    Fault.REFUSED: _refused,
    Fault.KILLED_BEFORE: _killed_before,
    Fault.KILLED_AFTER: _killed_after,
    Fault.ANSWER_LOST: _answer_lost,
    Fault.TOO_LATE: _too_late,
    Fault.ANSWER_TOO_LATE: _answer_too_late,
}


async def put_under_plan(database: Database, plan: Plan) -> None:
    """From now on the statements of this open database meet the plan."""
    pool = database._pool
    assert pool is not None
    pool._connection_class = type("PlannedConnection", (FailingConnection,), {"plan": plan})
    await pool.expire_connections()
