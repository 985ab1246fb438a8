"""Making visits: claim what is due, go out, write how it ended. Any process may die in between.

- What a dead process had claimed is due again when its lease ends. No transaction is open during a call.
- A visit that lasts gives its place up to the next one: hosts that hang cost a socket each, and nobody else's time.
- Few ends are written at once: visits never take the database from the requests of others.
"""

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any, TypeAlias
from uuid import uuid4

import structlog

from hansa.foundation.plumbing.metrics import card_visits_total
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.errors import Unavailable

from . import store
from .records import Errand, Visit

FRESH_AT_ONCE = 32
FRESH_SECONDS = 0.5
AT_ONCE = 512
ENDS_AT_ONCE = 4
LOOK_AGAIN_SECONDS = 1.0
GATHERING_SECONDS = 0.02

Making: TypeAlias = Callable[[Runtime, Visit, asyncio.Semaphore], Coroutine[Any, Any, str]]
"""Make one visit and write its end, as far as the semaphore lets; returns how it ended in a word."""

_log = structlog.get_logger()


async def make_visits(runtime: Runtime, errand: Errand, make: Making) -> int:
    """Make visits until nothing is due and nothing under way; returns how many were made."""
    under_way: dict[asyncio.Task[str], float] = {}
    writing = asyncio.Semaphore(ENDS_AT_ONCE)
    count = 0
    # Nothing is written while there is nothing to do.
    if not await runtime.database.look(lambda tx: store.is_due(tx, errand)):
        return count
    try:
        while True:
            for visit in await _claimed(runtime, errand, _room(under_way)):
                count += 1
                under_way[asyncio.create_task(make(runtime, visit, writing))] = monotonic()
            if not under_way:
                return count
            await _some_end(under_way)
            _forget_ended(under_way, errand)
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def _room(under_way: "dict[asyncio.Task[str], float]") -> int:
    """How many visits more may begin now."""
    since = monotonic() - FRESH_SECONDS
    fresh = sum(began > since for began in under_way.values())
    return min(FRESH_AT_ONCE - fresh, AT_ONCE - len(under_way))


async def _claimed(runtime: Runtime, errand: Errand, most: int) -> list[Visit]:
    if most <= 0:
        return []
    lease = uuid4()
    return await runtime.database.act(lambda tx: store.claim(tx, errand, most, lease))


async def _some_end(under_way: "dict[asyncio.Task[str], float]") -> None:
    """Wait for room, a moment longer than the first end: several are claimed in one statement."""
    is_full = _room(under_way) <= 0
    await asyncio.wait(
        under_way,
        timeout=FRESH_SECONDS / 2 if is_full else LOOK_AGAIN_SECONDS,
        return_when=asyncio.FIRST_COMPLETED,
    )
    await asyncio.sleep(GATHERING_SECONDS)


def _forget_ended(under_way: "dict[asyncio.Task[str], float]", errand: Errand) -> None:
    for task in [task for task in under_way if task.done()]:
        del under_way[task]
        trouble = task.exception()
        if trouble is None:
            card_visits_total.labels(errand, task.result()).inc()
        elif isinstance(trouble, Unavailable):
            # The visit will be made again when its lease ends; the others go on.
            _log.warning(
                "the result of a pull or health check was not written", errand=errand, reason=trouble.detail
            )
        else:
            _log.error("pull or health check failed with an internal error", errand=errand, exc_info=trouble)
