"""Measurement of the components, each minute by one process: states, and the uptime of the present day."""

from collections.abc import Sequence

from hansa.foundation.plumbing.jobs import scheduled
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from . import rules, store
from .checks import CHECKS
from .records import Check, Day


async def measure(runtime: Runtime) -> None:
    """Check the components and record what was found.

    While the database takes no writes nothing is recorded, which counts as down.
    """
    found = await CHECKS.of(runtime).now()
    await runtime.database.transaction(lambda tx: record(tx, found))


async def record(tx: Tx, found: Sequence[Check]) -> None:
    """Record a measurement: the state of each component, and the uptime since the one before it."""
    before = await store.lock_components(tx)
    now = await clock.began_at(tx)
    days = [
        Day(check.name, day, up_ms)
        for check in found
        if check.name in before
        for day, up_ms in rules.up_between(before[check.name], check.state, now).items()
    ]
    await store.add_uptime(tx, days)
    await store.keep_components(
        tx,
        [check.name for check in found],
        [check.state for check in found],
        [rules.since(before.get(check.name), check.state, now) for check in found],
        now,
    )


MEASURE = scheduled("status: measure the components", rules.EVERY_SECONDS, measure)
