"""A few transactions on as many real connections, one statement at a time, in a chosen order.

A side whose statement waits for a lock is left waiting while the other goes on, as PostgreSQL's own isolation tests
do. The order is a row of choices among the sides that can go on, so that every order can be walked through.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

import asyncpg
from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.connection import SERVER_SETTINGS, Tx
from hansa.rooms.federation.did_claims.operator_claims import NAMED_CLAIMS

Choose: TypeAlias = Callable[[int], int]
UseCase: TypeAlias = Callable[[Tx], Awaitable[Any]]

LOOK_AFTER_SECONDS = 0.004
HANG_SECONDS = 20.0

_IS_BLOCKED = "SELECT cardinality(pg_blocking_pids($1)) > 0"


class Side:
    """One transaction that stops before each of its statements, its end included."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", use_case: UseCase) -> None:
        self.pid = connection.get_server_pid()
        self.outcome: Any = None
        self.is_finished = False
        self.arrived = asyncio.Event()
        self._go = asyncio.Event()
        self._connection = connection
        self._use_case = use_case

    async def live(self) -> None:
        await self._connection.execute("BEGIN")
        try:
            self.outcome = await self._use_case(self)  # type: ignore[arg-type]
            ending = "COMMIT"
        except Exception as error:  # noqa: BLE001
            self.outcome, ending = error, "ROLLBACK"
        await self.execute(ending)
        self.is_finished = True
        self.arrived.set()

    def go(self) -> None:
        self.arrived.clear()
        self._go.set()

    async def execute(self, *statement: Any, **options: Any) -> Any:
        await self._stop()
        return await self._connection.execute(*statement, **options)

    async def executemany(self, *statement: Any, **options: Any) -> None:
        await self._stop()
        await self._connection.executemany(*statement, **options)

    async def fetch(self, *statement: Any, **options: Any) -> Any:
        await self._stop()
        return await self._connection.fetch(*statement, **options)

    async def fetchrow(self, *statement: Any, **options: Any) -> Any:
        await self._stop()
        return await self._connection.fetchrow(*statement, **options)

    async def fetchval(self, *statement: Any, **options: Any) -> Any:
        await self._stop()
        return await self._connection.fetchval(*statement, **options)

    async def fetchmany(self, *statement: Any, **options: Any) -> Any:
        await self._stop()
        return await self._connection.fetchmany(*statement, **options)

    def transaction(self) -> "Savepoint":
        return Savepoint(self._connection)

    async def _stop(self) -> None:
        self.arrived.set()
        await self._go.wait()
        self._go.clear()


class Savepoint:
    """A transaction within a side's, as the real connection makes one. It waits for nobody and is no step of its own."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection

    async def start(self) -> None:
        await self._connection.execute("SAVEPOINT part")

    async def commit(self) -> None:
        await self._connection.execute("RELEASE part")

    async def rollback(self) -> None:
        await self._connection.execute("ROLLBACK TO part")

    async def __aenter__(self) -> None:
        await self.start()

    async def __aexit__(self, kind: object, *_: object) -> None:
        await (self.commit() if kind is None else self.rollback())


class WithinOneTransaction:
    """A database whose every act belongs to one transaction of somebody else; one that is refused is undone alone."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    async def transaction(self, use_case: Callable[[Tx], Awaitable[Any]]) -> Any:
        async with self._tx.transaction():
            return await use_case(self._tx)

    async def query(self, use_case: Callable[[Tx], Awaitable[Any]]) -> Any:
        return await use_case(self._tx)


def within_transaction(runtime: Runtime, tx: Tx) -> Runtime:
    """Return a runtime whose acts belong to this transaction. Readings that a process makes for all its callers have its own connections."""
    NAMED_CLAIMS.of(runtime)
    return replace(runtime, database=WithinOneTransaction(tx))  # type: ignore[arg-type]


class Director:
    """Lets the sides go on in the order that `choose` says."""

    def __init__(self, connections: "Sequence[asyncpg.Connection[asyncpg.Record]]") -> None:
        *self._connections, self._observer = connections

    async def play(self, use_cases: Sequence[UseCase], choose: Choose) -> list[Any]:
        """Return the outcome of each use case: its result, or its error."""
        sides = [Side(*pair) for pair in zip(self._connections, use_cases, strict=False)]
        async with asyncio.timeout(HANG_SECONDS), asyncio.TaskGroup() as group:
            for side in sides:
                group.create_task(side.live())
                await side.arrived.wait()
            while not all(side.is_finished for side in sides):
                await self._step(sides, choose)
        return [side.outcome for side in sides]

    async def _step(self, sides: list[Side], choose: Choose) -> None:
        ready = [side for side in sides if side.arrived.is_set() and not side.is_finished]
        assert ready, "the sides wait for each other"
        chosen = ready[choose(len(ready))]
        chosen.go()
        await self._settled(chosen)
        if chosen.is_finished:
            for side in sides:
                await self._settled(side)

    async def _settled(self, side: Side) -> None:
        """Return when the side stands before its next statement, has finished, or waits for a lock."""
        while not side.arrived.is_set():
            try:
                async with asyncio.timeout(LOOK_AFTER_SECONDS):
                    await side.arrived.wait()
            except TimeoutError:
                if await self._observer.fetchval(_IS_BLOCKED, side.pid):
                    return


@asynccontextmanager
async def directing(dsn: str, sides: int) -> AsyncIterator[Director]:
    """A director of so many sides on that database."""
    async with AsyncExitStack() as stack:
        connections = [await asyncpg.connect(dsn, server_settings=SERVER_SETTINGS) for _ in range(sides + 1)]
        for connection in connections:
            stack.push_async_callback(connection.close)
        yield Director(connections)


async def in_every_order(play: Callable[[Choose], Awaitable[None]]) -> int:
    """Play every order there is, depth first; returns how many."""
    path: list[tuple[int, int]] = []
    played = 0
    while True:
        await play(_along(path))
        played += 1
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return played
        path[-1] = (path[-1][0] + 1, path[-1][1])


def _along(path: list[tuple[int, int]]) -> Choose:
    depth = -1

    def choose(options: int) -> int:
        nonlocal depth
        depth += 1
        if depth == len(path):
            path.append((0, options))
        assert path[depth][1] == options, "the same choices led elsewhere"
        return path[depth][0]

    return choose


async def in_some_orders(play: Callable[[Choose], Awaitable[None]], *, count: int, seed: int) -> None:
    """Play `count` orders drawn at random."""
    draw = random.Random(seed)
    for _ in range(count):
        await play(draw.randrange)
