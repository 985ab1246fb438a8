"""Follow the journal on a connection of its own: every committed event once, in the order of positions.

The connection may break at any time: the next one goes on from the last position delivered. Notifications may be missing, so
the follower also looks without one, at first soon, then later.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import OUT_OF_REACH, await_standbys
from hansa.foundation.plumbing.telemetry.job_health import JobHealth
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.journal.listener import Connection, listening

from . import store
from .store import Place

BATCH_MAX = 500
POLL_MIN_SECONDS = 0.01
POLL_MAX_SECONDS = 0.2
# A statement and a turn of sending take about as much for one event as for many. What sending took is left four times over to the
# rest of the process, as far as events are not late for it.
PACE_SECONDS = 0.02
PACE_MAX_SECONDS = 0.06
REST_FACTOR = 4
RECONNECT_SECONDS = 0.5
FOLLOWING = "live feed: follow the journal"
LINGER_SECONDS = 5.0
"""How long the connection is kept while no events are needed. Nothing is read on it meanwhile."""
Deliver = Callable[[Sequence[StoredEvent]], None]


class Follower:
    """The reader of one process, for as long as it `is_needed`.

    `begin` is called when following begins, then `deliver` with each batch; `rest` ends that, and the next need begins anew.
    """

    def __init__(
        self,
        dsn: str,
        *,
        begin: Callable[[], None],
        deliver: Deliver,
        rest: Callable[[], None],
        health: JobHealth,
    ) -> None:
        self.is_needed = asyncio.Event()
        self._dsn = dsn
        self._health = health
        self._begin = begin
        self._deliver = deliver
        self._rest = rest
        self._place: Place | None = None

    @property
    def place(self) -> Place:
        """The last position delivered: every event up to it is committed for good. Only while following."""
        assert self._place is not None
        return self._place

    async def run(self) -> None:
        """Follow until cancelled, through every outage of the database."""
        while True:
            await self.is_needed.wait()
            await self._follow_while_needed()

    async def _follow_while_needed(self) -> None:
        while True:
            try:
                wake = asyncio.Event()
                async with listening(self._dsn, wake) as connection:
                    await self._follow_while_connected(connection, wake)
            except OUT_OF_REACH as error:
                unavailable = Unavailable(f"The journal cannot be read: {type(error).__name__}.")
                pause = self._health.failed(FOLLOWING, unavailable)
            except Exception as error:  # noqa: BLE001
                # The feed fails alone, and its next turn comes.
                pause = self._health.failed(FOLLOWING, error)
            else:
                return
            await asyncio.sleep(max(RECONNECT_SECONDS, pause))

    async def _follow_while_connected(self, connection: Connection, wake: asyncio.Event) -> None:
        while self.is_needed.is_set():
            await self._follow(connection, wake)
            self._place = None
            self._rest()
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    await self.is_needed.wait()

    async def _follow(self, connection: Connection, wake: asyncio.Event) -> None:
        place = self._place or await self._horizon(connection)
        timeout = POLL_MIN_SECONDS
        while self.is_needed.is_set():
            wake.clear()
            events = await store.events_after(connection, place, BATCH_MAX)
            started = time.monotonic()
            if events:
                # Sent events are known outside: the standbys have them first.
                await await_standbys(connection)
                connection.require_replicated()
                place = self._place = Place.of(events[-1])
                self._deliver(events)
            self._health.succeeded(FOLLOWING)
            took = time.monotonic() - started
            await asyncio.sleep(min(max(PACE_SECONDS, REST_FACTOR * took), PACE_MAX_SECONDS))
            if len(events) == BATCH_MAX:
                continue
            timeout = POLL_MIN_SECONDS if events else min(2 * timeout, POLL_MAX_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await wake.wait()
                    timeout = POLL_MIN_SECONDS

    async def _horizon(self, connection: Connection) -> Place:
        place = self._place = await store.horizon(connection)
        self._begin()
        return place
