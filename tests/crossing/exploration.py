"""Every order of events of a small model: two registries, one or two transfers, and a budget of faults.

A state is both registries, the messages under way, and what of the budget is left. What is not answered is sent again only when
nothing is under way, which keeps the model finite. Each state is visited once.
"""

import random
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace

from hansa.rooms.transfers.crossing.messages import Body, Message

from .model import Registry, Toward, require_quiet

UNITS = 1000
LATER = 1000.0
Flight = tuple[str, str, Message]
"""To whom, from whom, what."""


@dataclass(frozen=True)
class Budget:
    """How often each fault may still happen; `timeouts`: how often a deadline passes before everything is answered."""

    lost: int = 0
    doubled: int = 0
    crashes: int = 0
    rewinds: int = 0
    timeouts: int = 0


@dataclass
class World:
    """One state."""

    registries: dict[str, Registry]
    flights: tuple[Flight, ...]
    to_start: tuple[Body, ...]
    budget: Budget
    backups: dict[str, Registry] = field(default_factory=dict)
    asked: bool = False

    def copy(self) -> "World":
        return replace(self, registries={name: one.copy() for name, one in self.registries.items()})

    def key(self) -> Hashable:
        registries = tuple(one.key() for one in self.registries.values())
        backups = tuple((name, one.key()) for name, one in self.backups.items())
        flights = (frozenset(self.flights), len(self.flights))
        return (registries, flights, self.to_start, self.budget, backups, self.asked)

    def under_way(self, to: str, author: str, messages: list[Message]) -> None:
        self.flights += tuple((to, author, message) for message in messages)


def founded(
    transfers: tuple[tuple[str, str], ...],
    budget: Budget,
    *,
    registry: Callable[[str], Registry] = lambda name: Registry(name, UNITS, UNITS, UNITS),
    amount: int = 200,
) -> World:
    """A world before its transfers, each from one registry to the other."""
    registries = {name: registry(name) for name in ("a", "b")}
    registries["a"].toward, registries["b"].toward = {"b": Toward()}, {"a": Toward()}
    bodies = tuple(
        Body(f"t{n}", f"did:{payer}", f"did:{payee}", amount, "AVT")
        for n, (payer, payee) in enumerate(transfers)
    )
    return World(registries, (), bodies, budget)


def quiet(world: World) -> None:
    """Check the rules of a history after which nothing follows. Raises: Broken."""
    require_quiet(world.registries["a"], world.registries["b"])


@dataclass
class Explored:
    """What was visited; `is_complete` when nothing is left."""

    states: int = 0
    ends: int = 0
    is_complete: bool = True
    coverage: set[tuple[str, str, str]] = field(default_factory=set)


def explore(world: World, most: int, seed: int = 0, *, at_end: Callable[[World], None] = quiet) -> Explored:
    """Visit every state that can be reached, at most so many; `at_end` judges the ends. Raises: Broken."""
    rng, explored = random.Random(seed), Explored()
    seen: set[int] = set()
    stack = [world]
    while stack:
        state = stack.pop()
        key = hash(state.key())
        if key in seen:
            continue
        if explored.states >= most:
            explored.is_complete = False
            break
        seen.add(key)
        explored.states += 1
        following = list(_following(state, explored))
        if not following:
            explored.ends += 1
            at_end(state)
        rng.shuffle(following)
        stack += following
    return explored


def _following(world: World, explored: Explored) -> Iterator[World]:
    yield from _started(world)
    for place in range(len(world.flights)):
        if world.flights[place] in world.flights[:place]:
            continue
        yield from _met(world, place, explored)
    yield from _restored(world)
    if world.budget.timeouts:
        spent = replace(world.budget, timeouts=world.budget.timeouts - 1)
        yield from _time_passed(world, spent)
    if not world.flights and not world.to_start:
        yield from _repeated(world)


def _started(world: World) -> Iterator[World]:
    if world.to_start:
        after = world.copy()
        body, *rest = world.to_start
        after.to_start = tuple(rest)
        payer, payee = body.sender_did[-1], body.receiver_did[-1]
        after.under_way(payee, payer, after.registries[payer].send(payee, body, LATER))
        yield after


def _met(world: World, place: int, explored: Explored) -> Iterator[World]:
    budget = world.budget
    rest = world.flights[:place] + world.flights[place + 1 :]
    yield _delivered(world, place, replace(world, flights=rest), "none", explored)
    if budget.lost:
        after = replace(world.copy(), flights=rest, budget=replace(budget, lost=budget.lost - 1))
        yield after
    if budget.doubled:
        spent = replace(budget, doubled=budget.doubled - 1)
        yield _delivered(world, place, replace(world, budget=spent), "doubled", explored)
    if budget.crashes:
        spent = replace(budget, crashes=budget.crashes - 1)
        yield _delivered(world, place, replace(world, flights=rest, budget=spent), "crash", explored)


def _delivered(world: World, place: int, left: World, fault: str, explored: Explored) -> World:
    """The world `left` after the flight at this place of `world` has arrived."""
    to, author, message = world.flights[place]
    after = left.copy()
    kept = after.registries[to].toward[author]
    explored.coverage.add((_state(kept, message), message.type.value, fault))
    answers = after.registries[to].receive(author, message, now=0.0)
    if fault != "crash":
        after.under_way(author, to, answers)
    return after


def _state(kept: Toward, message: Message) -> str:
    if message.body is None:
        return kept.pair.crossing.value
    sent = kept.sent.get(message.body.transfer_id)
    taken = kept.received.get(message.body.transfer_id)
    return f"{sent.state.value if sent else '-'}/{taken.state.value if taken else '-'}"


def _restored(world: World) -> Iterator[World]:
    if not world.budget.rewinds:
        return
    for name, one in world.registries.items():
        if name not in world.backups and not world.backups:
            yield replace(world.copy(), backups={name: one.copy()})
        elif name in world.backups:
            for noticed in ("noticed", "not noticed"):
                after = world.copy()
                after.registries[name] = one.restored(world.backups[name], noticed=noticed)
                after.asked = False
                after.backups, after.budget = {}, replace(world.budget, rewinds=world.budget.rewinds - 1)
                yield after


def _time_passed(world: World, budget: Budget) -> Iterator[World]:
    for name, peer in (("a", "b"), ("b", "a")):
        if any(row.state.value == "reserved" for row in world.registries[name].toward[peer].sent.values()):
            after = replace(world.copy(), budget=budget)
            after.under_way(peer, name, after.registries[name].tick(peer, 2 * LATER))
            yield after


def _repeated(world: World) -> Iterator[World]:
    """Nothing is under way: what is not answered is sent again, and at the end both ask for the heads once."""
    after = world.copy()
    for name, peer in (("a", "b"), ("b", "a")):
        if not world.asked and not any(one.is_waiting(_other(x)) for x, one in world.registries.items()):
            after.registries[name].ask_heads(peer)
        after.under_way(peer, name, after.registries[name].tick(peer, 0.0))
    after.asked = world.asked or not any(one.is_waiting(_other(x)) for x, one in world.registries.items())
    if after.flights:
        yield after


def _other(name: str) -> str:
    return "b" if name == "a" else "a"
