"""How far reactors have come, and what they gave up on, for administrators."""

from collections.abc import Sequence
from dataclasses import dataclass

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.reactors import Reactor

from . import store

WAITING_COUNTED = 1000


@dataclass(frozen=True)
class ReactorReading:
    """One reactor: its events that wait (counted up to a bound), its place, and what it set aside."""

    reactor: Reactor
    events_waiting: int
    state: store.State
    set_aside: Sequence[store.SetAside]


async def read_reactors(tx: Tx, reactors: Sequence[Reactor]) -> list[ReactorReading]:
    """Every reactor of the registry."""
    return [
        ReactorReading(
            reactor,
            await store.count_waiting(tx, reactor.name, reactor.type_names, WAITING_COUNTED),
            await store.state_of(tx, reactor.name),
            await store.set_aside_by(tx, reactor.name),
        )
        for reactor in reactors
    ]
