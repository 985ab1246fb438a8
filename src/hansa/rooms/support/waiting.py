"""Tickets and reports that wait for the support, for the metrics and for the administrators' overview."""

from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import support_oldest_seconds, support_waiting

from . import store
from .records import Waiting

EVERY_SECONDS = 15


async def count_waiting(tx: Tx) -> list[Waiting]:
    """Return the numbers of open tickets and of open reports, and the time for which the oldest of each has been open."""
    return await store.waiting(tx)


async def show_waiting(runtime: Runtime) -> None:
    """Set the gauges of both kinds."""
    for one in await runtime.database.read(count_waiting):
        support_waiting.labels(one.kind).set(one.number)
        support_oldest_seconds.labels(one.kind).set(one.oldest_seconds)


SHOW_WAITING = PeriodicTask("support: show tickets that wait", EVERY_SECONDS, show_waiting)
