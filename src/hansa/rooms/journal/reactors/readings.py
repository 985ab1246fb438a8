"""Progress of reactors, and the events that they gave up on, for administrators."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.jobs import JobFilter, list_jobs
from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .rules import job_name

WAITING_COUNTED = 1000


class ReactorReading(msgspec.Struct, frozen=True):
    """One reactor: its events that wait (counted up to a bound), how often the next one failed, and the events it set aside.

    `retry_at` is None unless it waits after a failure.
    """

    reactor: Reactor
    events_waiting: int
    failures: int
    retry_at: datetime | None
    set_aside_count: int
    set_aside: Sequence[store.SetAside]


async def read_reactors(tx: Tx, reactors: Sequence[Reactor]) -> list[ReactorReading]:
    """Every reactor of the registry."""
    return [await _read(tx, reactor) for reactor in reactors]


async def _read(tx: Tx, reactor: Reactor) -> ReactorReading:
    found, _ = await list_jobs(tx, JobFilter(job_name(reactor.name), None, limit=1, offset=0))
    failing = [job for job in found if job.attempts]
    return ReactorReading(
        reactor,
        await store.count_waiting(tx, reactor.name, reactor.type_names, WAITING_COUNTED),
        failing[0].attempts if failing else 0,
        failing[0].due_at if failing else None,
        await store.count_set_aside(tx, reactor.name),
        await store.set_aside_by(tx, reactor.name),
    )
