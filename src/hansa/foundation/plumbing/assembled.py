"""The rooms put together: their routers in order, their jobs and reactors, and the values of their slots.

A misfit stops the start, which names it: a slot that is offered and not filled, filled twice, or filled and not offered;
a position, job or reactor of two rooms; a setting that does not exist.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from fastapi import APIRouter

from hansa.foundation.plumbing.jobs import JobKind
from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.keys.seal import SealedColumn
from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime, Slots
from hansa.foundation.plumbing.room import ACCOUNT_END, REACTORS, AccountEnds, Background, Blocker, Room
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_each, read_together, reading

# Some are read as properties that fill in what the operator left out.
SETTINGS = frozenset(Settings.model_fields) | {
    name for name, member in vars(Settings).items() if isinstance(member, property)
}


class RoomsDoNotFit(Exception):
    """The descriptors of the rooms contradict each other."""


class Assembly:
    """The rooms of a process, the lowest first."""

    def __init__(self, rooms: Sequence[Room]) -> None:
        """Raises: RoomsDoNotFit, naming everything that does not fit."""
        self.rooms = tuple(rooms)
        if found := [*_doubled(self.rooms), *_misfits_of_slots(self.rooms), *_unknown_settings(self.rooms)]:
            raise RoomsDoNotFit("; ".join(found))

    @cached_property
    def api_routers(self) -> tuple[APIRouter, ...]:
        """The routers below /api/v1, in the order of matching."""
        return self._routers(at_root=False)

    @cached_property
    def root_routers(self) -> tuple[APIRouter, ...]:
        """The routers below /, in the order of matching."""
        return self._routers(at_root=True)

    @cached_property
    def reactors(self) -> tuple[Reactor, ...]:
        return tuple(reactor for room in self.rooms for reactor in room.reactors)

    @cached_property
    def jobs(self) -> tuple[JobKind, ...]:
        return tuple(kind for room in self.rooms for kind in room.jobs)

    @cached_property
    def droppable_jobs(self) -> frozenset[str]:
        """The kinds whose jobs operators may delete."""
        return frozenset(kind.name for kind in self.jobs if kind.is_droppable)

    @cached_property
    def rounds(self) -> tuple[PeriodicTask, ...]:
        return tuple(one for room in self.rooms for one in room.rounds)

    @cached_property
    def sealed(self) -> tuple[SealedColumn, ...]:
        return tuple(one for room in self.rooms for one in room.sealed)

    @cached_property
    def background(self) -> tuple[Background, ...]:
        return tuple(one for room in self.rooms for one in room.background)

    @cached_property
    def wakes(self) -> Mapping[str, Callable[[Runtime], None]]:
        """Functions that a process calls at the notifications of each channel."""
        return {channel: wake for room in self.rooms for channel, wake in room.wakes.items()}

    def slots(self) -> Slots:
        """The slots of one more process."""
        own = (REACTORS.filled_with(self.reactors), ACCOUNT_END.filled_with(self._account_end()))
        return Slots([*own, *(filling for room in self.rooms for filling in room.fills)])

    def _routers(self, *, at_root: bool) -> tuple[APIRouter, ...]:
        routes = [one for room in self.rooms for one in room.routes if one.at_root == at_root]
        return tuple(one.router for one in sorted(routes, key=lambda one: one.position))

    def _account_end(self) -> AccountEnds:
        ends = [room.account_end for room in reversed(self.rooms) if room.account_end is not None]
        owners = [end.agents for end in ends if end.agents is not None]

        async def blockers(tx: Tx, developer_id: int) -> list[Blocker]:
            of_agents, of_memberships = await read_together(
                tx,
                reading(agents_blockers, developer_id),
                reading(read_each, [reading(end.beside_agents, developer_id) for end in ends]),
            )
            return list(chain(of_agents, *of_memberships))

        async def agents_blockers(tx: Tx, developer_id: int) -> list[Blocker]:
            owned = await read_each(tx, [reading(of_developer, developer_id) for of_developer in owners])
            agents = {did: status for found in owned for did, status in found.items()}
            return list(chain(*await read_each(tx, [reading(end.blockers, agents) for end in ends])))

        async def end_all(tx: Tx, developer_id: int) -> None:
            for end in ends:
                await end.end(tx, developer_id)

        async def erase_all(tx: Tx, developer_id: int) -> None:
            for end in ends:
                await end.erase(tx, developer_id)

        return AccountEnds(blockers, end_all, erase_all)


def _doubled(rooms: Sequence[Room]) -> Iterator[str]:
    """Yield the names that two rooms, or one room twice, claim."""
    positions = [one.position for room in rooms for one in room.routes]
    yield from _more_than_once("room", [room.name for room in rooms])
    yield from _more_than_once("position of routes", positions)
    yield from _more_than_once("job", [kind.name for room in rooms for kind in room.jobs])
    yield from _more_than_once("channel", [channel for room in rooms for channel in room.wakes])
    yield from _more_than_once("reactor", [one.name for room in rooms for one in room.reactors])


def _misfits_of_slots(rooms: Sequence[Room]) -> Iterator[str]:
    offered = [slot for room in rooms for slot in room.offers]
    filled = [filling.slot for room in rooms for filling in room.fills]
    yield from _more_than_once("slot", [slot.name for slot in offered], "is offered")
    for slot in sorted(set(filled) | set(offered), key=lambda slot: slot.name):
        fillers = [room.name for room in rooms for filling in room.fills if filling.slot is slot]
        if slot not in offered:
            yield f"slot {slot.name!r} is filled by {' and '.join(fillers)} and offered by no room"
        elif not fillers:
            yield f"slot {slot.name!r} is filled by no room"
        elif len(fillers) > 1 and slot.joined is None:
            yield f"slot {slot.name!r} is filled by {' and '.join(fillers)}; one room may fill it"


def _unknown_settings(rooms: Sequence[Room]) -> Iterator[str]:
    for room in rooms:
        for name in sorted(room.settings - SETTINGS):
            yield f"room {room.name!r} reads the setting {name!r}, which does not exist"


def _more_than_once(kind: str, names: Iterable[object], verb: str = "is declared") -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{kind} {name!r} {verb} {count} times"
