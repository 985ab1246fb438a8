"""The descriptor of a room: everything that the process needs to know of it. `doors/assembly.py` lists the descriptors."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, TypeAlias

import msgspec
from fastapi import APIRouter
from prometheus_client import Counter, Gauge, Histogram

from hansa.foundation.plumbing.jobs import JobKind
from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.keys.seal import SealedColumn
from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Filling, Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx

Metric: TypeAlias = Counter | Gauge | Histogram
Background: TypeAlias = Callable[[Runtime], AbstractAsyncContextManager[None]]


class Routes(msgspec.Struct, frozen=True):
    """A router and its place in the order of matching: the lowest `position` first, each position once.

    Routes stand below /api/v1, or below / with `at_root`.
    """

    position: int
    router: APIRouter
    at_root: bool = False


BlockerKind: TypeAlias = Literal[
    "balance", "stake", "bond", "contracts", "disputes", "orders", "points", "organization"
]


class Blocker(msgspec.Struct, frozen=True):
    """Something that an agent holds and that would be lost. `amount` is a decimal string. `organization`: the treasury of one with one owner."""

    kind: BlockerKind
    agent_did: str
    amount: str
    detail: str


async def no_blockers(_: Tx, __: Mapping[str, str]) -> list[Blocker]:
    """Nothing prevents the end of an account."""
    return []


async def no_memberships(_: Tx, __: int) -> list[Blocker]:
    """Nothing beside agents prevents the end of an account."""
    return []


async def nothing(_: Tx, __: int) -> None:
    """Nothing is ended or erased."""


class AccountEnd(msgspec.Struct, frozen=True):
    """Acts of a room at the end of a developer's account.

    `blockers(tx, agents)` names the reasons against it; `agents` has the status of each agent of the developer by its DID, as one room
    reads them (`agents(tx, developer_id)`); `beside_agents(tx, developer_id)` names reasons that are no agents. `end(tx, developer_id)` ends everything that the developer owns in the room when the account
    is closed; it raises Conflict when something prevents it after all. `erase(tx, developer_id)` deletes, minutes later, everything that
    may be personal.
    """

    blockers: Callable[[Tx, Mapping[str, str]], Awaitable[Sequence[Blocker]]] = no_blockers
    end: Callable[[Tx, int], Awaitable[None]] = nothing
    erase: Callable[[Tx, int], Awaitable[None]] = nothing
    agents: Callable[[Tx, int], Awaitable[Mapping[str, str]]] | None = None
    beside_agents: Callable[[Tx, int], Awaitable[Sequence[Blocker]]] = no_memberships


class AccountEnds(msgspec.Struct, frozen=True):
    """The same acts of all rooms, each for a developer."""

    blockers: Callable[[Tx, int], Awaitable[Sequence[Blocker]]]
    end: Callable[[Tx, int], Awaitable[None]]
    erase: Callable[[Tx, int], Awaitable[None]]


class Room(msgspec.Struct, frozen=True):
    """One room. Each member is empty unless the room has something of the kind."""

    name: str
    routes: tuple[Routes, ...] = ()
    reactors: tuple[Reactor, ...] = ()
    jobs: tuple[JobKind, ...] = ()
    rounds: tuple[PeriodicTask, ...] = ()
    """What each process does for itself at intervals."""
    background: tuple[Background, ...] = ()
    """What runs in each serving process from its start to its end."""
    wakes: Mapping[str, Callable[[Runtime], None]] = msgspec.field(default_factory=dict)
    """What each serving process calls at the notifications of a channel of the database; it returns at once."""
    settings: frozenset[str] = frozenset()
    """The names of the settings that the room reads."""
    metrics: tuple[Metric, ...] = ()
    account_end: AccountEnd | None = None
    sealed: tuple[SealedColumn, ...] = ()
    """The columns of secrets that the registry must be able to read again."""
    offers: tuple[Slot[Any], ...] = ()
    fills: tuple[Filling, ...] = ()


REACTORS: Slot[tuple[Reactor, ...]] = Slot("plumbing: reactors of all rooms")
"""Filled by the assembly."""

ACCOUNT_END: Slot[AccountEnds] = Slot("plumbing: the end of an account in all rooms")
"""Filled by the assembly: the blockers of all rooms; what is owned is ended from the uppermost room down."""
