"""Knowledge of governed values that a process reads at its start, at each notification, and long before it is incomplete."""

import asyncio
from contextlib import suppress

from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.values.errors import Unavailable

from . import store

PAUSE_MAX_SECONDS = 15.0
READINGS_PER_LEAD = 4


class Follower:
    """Reads the changes of one process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._reading: asyncio.Task[None] | None = None
        self.pause_seconds = PAUSE_MAX_SECONDS

    async def read(self) -> None:
        """Read the changes now. Raises: Unavailable."""
        knowledge, lead = await self._runtime.database.execute(store.known)
        self._runtime.settings.governed.learn(knowledge)
        self.pause_seconds = min(PAUSE_MAX_SECONDS, lead.total_seconds() / READINGS_PER_LEAD)

    def read_soon(self) -> None:
        """Read the changes beside the caller."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().create_task(self._read_if_reached())

    async def _read_if_reached(self) -> None:
        # The round reads again soon, and the database is asked where the knowledge is too old by then.
        with suppress(Unavailable):
            await self.read()


FOLLOWER: Slot[Follower] = Slot("plumbing: follower of governed values", build=Follower)


async def _follow(runtime: Runtime) -> None:
    await FOLLOWER.of(runtime).read()


FOLLOW = PeriodicTask(
    "parameters: read governed values",
    PAUSE_MAX_SECONDS,
    _follow,
    pause_seconds=lambda runtime: FOLLOWER.of(runtime).pause_seconds,
)


def notified(runtime: Runtime) -> None:
    """Read the changes because of a notification, or because notifications are received from now on."""
    FOLLOWER.of(runtime).read_soon()
