"""How many requests of the hot routes are worked on at once; the others wait in turn, and not for long.

A place is taken once the body is there, so that a slow sender holds none. Who waits costs next to nothing, and who is
refused after a while comes back less often than who is refused at once.
"""

import asyncio

from hansa.foundation.words.errors import Unavailable

PLACES = 1000
PATIENCE_SECONDS = 1.5


class Admission:
    """The places of one process: `async with admission` holds one."""

    def __init__(self, places: int = PLACES, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._places = asyncio.Semaphore(places)
        self._patience_seconds = patience_seconds

    async def __aenter__(self) -> None:
        """Take a place, in the order of asking. Raises: Unavailable when none becomes free in time."""
        if self._places.locked():
            await self._wait()
        else:
            await self._places.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._places.release()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._patience_seconds):
                await self._places.acquire()
        except TimeoutError:
            raise Unavailable("Too many requests are waiting; try again shortly.", retry_after=2) from None
