"""Counts of this process that are not written yet: requests of agents, and health checks. Noting one costs an addition.

They are written every few seconds. What a process noted and did not write when it was killed, or could not write, is not counted; nor
are agents beyond AGENTS_AT_ONCE between two writes.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import agents

from . import store
from .records import Figures

EVERY_SECONDS = 5
AGENTS_AT_ONCE = 20_000
WRITTEN_AT_ONCE = 1000
MINUTE_SECONDS = 60
FIRST_ERROR = 400

_REQUESTS, _ERRORS, _CHECKS, _ALIVE = range(4)


class NotedCounts:
    """Counts by agent and minute since 1970."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], list[int]] = {}

    def note_request(self, did: str, at: float, status: int) -> None:
        """Count an answered request of an agent; a status of 400 and above is an error."""
        counts = self._of(did, at)
        if counts is not None:
            counts[_REQUESTS] += 1
            counts[_ERRORS] += status >= FIRST_ERROR

    def note_check(self, did: str, at: float, *, is_alive: bool) -> None:
        """Count a health check of an agent."""
        counts = self._of(did, at)
        if counts is not None:
            counts[_CHECKS] += 1
            counts[_ALIVE] += is_alive

    def take(self) -> dict[tuple[str, int], list[int]]:
        """Return the counts, and begin anew."""
        taken, self._counts = self._counts, {}
        return taken

    def _of(self, did: str, at: float) -> list[int] | None:
        key = (did, int(at) // MINUTE_SECONDS)
        counts = self._counts.get(key)
        if counts is None and len(self._counts) < AGENTS_AT_ONCE:
            counts = self._counts[key] = [0, 0, 0, 0]
        return counts


NOTED: Slot[NotedCounts] = Slot("operations: counts that are not written yet", build=lambda _: NotedCounts())


async def write_noted(runtime: Runtime) -> None:
    """Write the counts of this process, a limited number in each transaction."""
    noted = NOTED.of(runtime).take()
    keys = sorted(noted)
    for first in range(0, len(keys), WRITTEN_AT_ONCE):
        figures = {
            (did, datetime.fromtimestamp(minute * MINUTE_SECONDS, UTC)): _figures(noted[did, minute])
            for did, minute in keys[first : first + WRITTEN_AT_ONCE]
        }
        await runtime.database.transaction(lambda tx, figures=figures: _write(tx, figures))  # type: ignore[misc]


async def _write(tx: Tx, figures: dict[tuple[str, datetime], Figures]) -> None:
    own = await agents.statuses_of(tx, sorted({did for did, _ in figures}))
    await store.add(tx, {key: one for key, one in figures.items() if key[0] in own})


def _figures(counts: list[int]) -> Figures:
    return Figures(
        api_requests=counts[_REQUESTS],
        api_errors=counts[_ERRORS],
        checks=counts[_CHECKS],
        checks_alive=counts[_ALIVE],
    )


@asynccontextmanager
async def writing_noted(runtime: Runtime) -> AsyncIterator[None]:
    """Write the last counts at an orderly stop."""
    yield
    with suppress(Unavailable):
        await write_noted(runtime)


WRITE_NOTED = PeriodicTask("operations: write counts of requests and checks", EVERY_SECONDS, write_noted)
