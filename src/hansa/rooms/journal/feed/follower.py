"""Follow the journal on a connection of its own: every committed event once, in the order of positions.

The connection may break at any time: the next one goes on from the last place told. A notification says that
something was committed; but of transactions that end together one alone notifies, an older open one holds back what
it tells of, and it may be lost with a connection. So the follower also looks without one, at first soon, then later.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import asyncpg
import structlog

from hansa.foundation.plumbing.database import ACQUIRE_SECONDS, OUT_OF_REACH, SERVER_SETTINGS
from hansa.rooms.journal.store import StoredEvent

from . import store
from .store import Place

BATCH_MAX = 500
PATIENCE_MIN_SECONDS = 0.01
PATIENCE_MAX_SECONDS = 0.2
# Telling many readers takes time; half as much again is left to the rest of the process, at the least.
PACE_SECONDS = 0.005
RECONNECT_SECONDS = 0.5
CLOSE_SECONDS = 2.0
SEED_DEPTH = 20_000
"""How many events are looked through for the newest of each type when the process starts."""

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Tell = Callable[[Sequence[StoredEvent]], None]

_log = structlog.get_logger()


class Follower:
    """The reader of one process. `seed` gets the newest events once, `tell` each later batch."""

    def __init__(self, dsn: str, *, seed: Tell, tell: Tell, ring: int, of_each_type: int) -> None:
        self._dsn = dsn
        self._seed = seed
        self._tell = tell
        self._ring = ring
        self._of_each_type = of_each_type
        self._place: Place | None = None

    async def run(self) -> None:
        """Follow until cancelled, through every outage of the database."""
        while True:
            try:
                async with self._connection() as (connection, wake):
                    await self._follow(connection, wake)
            except (*OUT_OF_REACH, asyncpg.PostgresError) as trouble:
                _log.warning("the live feed waits for the database", reason=type(trouble).__name__)
            except Exception:  # noqa: BLE001
                # The feed fails alone, and its next turn comes.
                _log.exception("the live feed failed")
            await asyncio.sleep(RECONNECT_SECONDS)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[Connection, asyncio.Event]]:
        connection = await asyncpg.connect(
            self._dsn, timeout=ACQUIRE_SECONDS, command_timeout=40, server_settings=SERVER_SETTINGS
        )
        wake = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: wake.set())
            await connection.add_listener(store.NOTIFICATIONS, lambda *_: wake.set())
            yield connection, wake
        finally:
            with suppress(*OUT_OF_REACH):
                await connection.close(timeout=CLOSE_SECONDS)

    async def _follow(self, connection: Connection, wake: asyncio.Event) -> None:
        place = self._place or await self._begin(connection)
        patience = PATIENCE_MIN_SECONDS
        while True:
            wake.clear()
            events = await store.events_after(connection, place, BATCH_MAX)
            started = time.monotonic()
            if events:
                place = self._place = Place.of(events[-1])
                self._tell(events)
            await asyncio.sleep(max(PACE_SECONDS, (time.monotonic() - started) / 2))
            if len(events) == BATCH_MAX:
                continue
            patience = PATIENCE_MIN_SECONDS if events else min(2 * patience, PATIENCE_MAX_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await wake.wait()
                    patience = PATIENCE_MIN_SECONDS

    async def _begin(self, connection: Connection) -> Place:
        place = await store.horizon(connection)
        newest = await store.newest_before(
            connection, place, ring=self._ring, of_each_type=self._of_each_type, depth=SEED_DEPTH
        )
        self._place = place
        self._seed(newest)
        return place
