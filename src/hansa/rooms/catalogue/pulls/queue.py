"""The jobs of visits: a card has one for each errand, as long as it is listed. The database enqueues them with the card.

A job runs one visit: read the addresses and the last result, call without a transaction, write the result and the next due time in one
commit. Of the visits that wait for slow hosts each costs a socket, and no place that another one could use.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeAlias, get_args

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job, LeasedKind, Retries
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import begin, card_visits_total
from hansa.foundation.values.errors import Unavailable

from . import store
from .records import Cycle, Errand, MadeVisit, Planned
from .visit import Visit

PULL_KIND, PROBE_KIND, PROOF_KIND = "card pull", "health check", "namespace proof"
STARTED_AT_ONCE = 32
AT_ONCE = 512
# Visits never take the connections of the database from requests.
RESULTS_AT_ONCE = 4
LEASE_SECONDS = 90.0
# After an internal error; a host that fails is a result, with a pause of its own.
RETRIES = Retries(None, pause_seconds=60.0)

WRITING: Slot[asyncio.Semaphore] = Slot(
    "catalogue: results of visits written at once", build=lambda _: asyncio.Semaphore(RESULTS_AT_ONCE)
)

VISIT_MADE: Slot[Callable[[Runtime, MadeVisit], None]] = Slot("catalogue: visits to the hosts of agents")
"""Called after each visit to an agent of this registry; it returns at once."""
SUCCEEDED = frozenset({"updated", "unchanged", "alive"})
FAILED = frozenset({"attempted_failed", "internal_host", "unreachable"})

MakeVisit: TypeAlias = Callable[[Runtime, Visit], Awaitable[str]]
"""Make one visit and write its result; returns the outcome, a word for the metric."""

begin(card_visits_total, get_args(Errand), ("unreachable", "taken_over", "left_alone", "moved"))


async def pull_cycle(tx: Tx, interval_seconds: int) -> Cycle:
    """How the pulls of cards are doing."""
    return await store.cycle(tx, interval_seconds, PULL_KIND)


def visits(
    kind: str, errand: Errand, make_visit: MakeVisit, interval: Callable[[Settings], int]
) -> LeasedKind:
    """The jobs of one errand. `interval`: its setting, seconds; with 0 no visit is made."""

    async def run(runtime: Runtime, job: Job) -> None:
        visit = await runtime.database.query(lambda tx: store.visit_of(tx, job, errand))
        if visit is None:
            await runtime.database.transaction(lambda tx: jobs.conclude(tx, job))
        else:
            outcome = await make_visit(runtime, visit)
            card_visits_total.labels(errand, outcome).inc()
            await _report(runtime, visit, outcome)

    return LeasedKind(
        kind,
        run,
        AT_ONCE,
        LEASE_SECONDS,
        RETRIES,
        concludes=True,
        started_at_once=STARTED_AT_ONCE,
        is_enabled=lambda settings: interval(settings) > 0,
    )


async def _report(runtime: Runtime, visit: Visit, outcome: str) -> None:
    """Report a visit that reached the agent, or failed to, after its commit."""
    succeeded = outcome in SUCCEEDED
    if visit.did is None or not (succeeded or outcome in FAILED) or visit.errand == "namespace":
        return
    sentence = None
    with suppress(Unavailable):
        sentence = None if succeeded else await runtime.database.query(lambda tx: store.trouble_of(tx, visit))
    VISIT_MADE.of(runtime)(runtime, MadeVisit(visit.did, visit.errand, outcome, succeeded, sentence))


async def put_off(tx: Tx, visit: Visit, seconds: float) -> None:
    """End the job of a locked visit that was not made; it is due again in so many seconds."""
    await visit_again(tx, visit, await store.planned(tx, visit), seconds, visit.failures)


async def visit_again(tx: Tx, visit: Visit, planned: Planned, seconds: float, failures: int) -> None:
    """End the job of a locked visit; the next one is due in so many seconds, behind others after a failure."""
    await jobs.conclude(
        tx,
        visit.job,
        due_at=planned.now + timedelta(seconds=seconds),
        concurrency_key=planned.place,
        low_priority=failures > 0,
    )


async def visit_no_more(tx: Tx, visit: Visit) -> None:
    """End the job of a locked visit and forget the visits of its card."""
    await store.forget(tx, visit.card_id)
    await jobs.conclude(tx, visit.job)
