"""Progress of reactors, and the events that they gave up on, for administrators.

Resume the events that a reactor gave up on, at an administrator's request.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import msgspec

from hansa.foundation.plumbing.jobs import JobView, first_jobs
from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.journal.reading_store import Place

from . import store
from .errors import ReactorUnknown
from .rules import error_text, job_name

WAITING_COUNTED = 1000
RESUMED_MAX = 100


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
    names = [reactor.name for reactor in reactors]
    jobs, waiting, set_aside = await read_together(
        tx,
        lambda tx: first_jobs(tx, [job_name(name) for name in names]),
        lambda tx: store.count_waiting(tx, {one.name: one.type_names for one in reactors}, WAITING_COUNTED),
        lambda tx: store.set_aside_by(tx, names),
    )
    return [
        _reading(
            reactor,
            jobs.get(job_name(reactor.name)),
            waiting[reactor.name],
            set_aside.get(reactor.name, (0, [])),
        )
        for reactor in reactors
    ]


async def reactors_before(tx: Tx, reactors: Sequence[Reactor], xid: int) -> list[str]:
    """The names of the reactors that have yet to see an event up to this position, or that set one aside."""
    return await store.before(tx, {one.name: one.type_names for one in reactors}, xid)


def _reading(
    reactor: Reactor, job: JobView | None, waiting: int, set_aside: tuple[int, Sequence[store.SetAside]]
) -> ReactorReading:
    failing = job if job is not None and job.attempts else None
    return ReactorReading(
        reactor,
        waiting,
        failing.attempts if failing else 0,
        failing.due_at if failing else None,
        *set_aside,
    )


class Resumed(msgspec.Struct, frozen=True):
    """How many events were reacted to, and how many failed again."""

    reacted: int
    failed: int


async def resume_events(
    database: Database, reactors: Sequence[Reactor], name: str, administrator: Developer
) -> Resumed:
    """React to the oldest events that the reactor set aside, each in a transaction of its own.

    Raises: ReactorUnknown, Unavailable.
    """
    reactor = next((one for one in reactors if one.name == name), None)
    if reactor is None:
        raise ReactorUnknown
    await database.transaction(
        lambda tx: record_admin_act(tx, administrator, act="reactor.retry", subject=name)
    )
    places = await database.read(lambda tx: store.places_set_aside(tx, name, RESUMED_MAX))
    reacted = failed = 0
    for place in places:
        try:
            reacted += await database.transaction(partial(_react, reactor=reactor, place=place))
        except Unavailable:
            raise
        except Exception as failure:  # noqa: BLE001
            failed += 1
            again = partial(store.fail_again, name=name, place=place, error=error_text(failure))
            await database.transaction(again)
    return Resumed(reacted, failed)


async def _react(tx: Tx, *, reactor: Reactor, place: Place) -> int:
    event = await store.take_back(tx, reactor.name, place)
    if event is None:
        return 0
    await reactor.react(tx, event)
    return 1
