"""Seeded histories of the bridge, and every state of a small one. The same seed gives the same history."""

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hansa.rooms.transfers.bridge.messages import Direction, Message, Terms
from hansa.rooms.transfers.bridge.sagas import State

from .model import Books, World

HEALED = 900.0
ENDED = 5000.0
REPEATED_SECONDS = 50.0
"""Decisions without a receipt are sent again after it."""
DIRECTIONS = (Direction.WRAP, Direction.REDEEM)


@dataclass
class History:
    """One run: sagas of both directions over a network that loses, doubles and delays until it heals.

    In some runs one registry abandons the other, which is a peer again later: meanwhile nothing arrives.
    """

    seed: int
    coverage: set[tuple[str, str, str]] = field(default_factory=set)
    abandons: bool = True
    made_up: int = 0
    """Sagas that were given up, carried out at the destination, and completed once it showed that."""
    doubts: int = 0
    """Sagas that were given up and carried out at the destination, and whose units an administrator has to pay in."""

    def run(self) -> World:
        """Play it to its end. Raises: Broken."""
        rng = self.rng = random.Random(self.seed)
        self.queue: list[tuple[float, int, Callable[[], None]]] = []
        self.lost, self.doubled, self.late = rng.random() * 0.4, rng.random() * 0.3, rng.random() * 0.6
        sagas = [f"s{n}" for n in range(rng.randint(1, 4))]
        refused = frozenset(name for name in sagas if rng.random() < 0.15)
        self.world, self.now = World(Books(free=1000), refused=refused), 0.0
        for name in sagas:
            self._at(rng.uniform(0, 600), lambda name=name: self._begin(name))
        self.is_away = False
        if self.abandons and rng.random() < 0.5:
            self._at(rng.uniform(0, HEALED - 100), self._abandon)
        else:
            self._at(HEALED, self._repeat)
        while self.queue:
            self.now, _, event = heapq.heappop(self.queue)
            event()
        self.world.require_ended()
        return self.world

    def _at(self, time: float, event: Callable[[], None]) -> None:
        if time < ENDED:
            heapq.heappush(self.queue, (time, len(self.queue) + int(time * 1e6), event))

    def _abandon(self) -> None:
        """By the administrator of the sources, or of the destination, whose decisions wait."""
        self.is_away = True
        if self.rng.random() < 0.7:
            self.world = self.world.abandoned()
        self._at(self.now + self.rng.uniform(0, 100), self._return)

    def _return(self) -> None:
        self.is_away = False
        self._repeat()

    def _repeat(self) -> None:
        """Send decisions again until each is confirmed: a request in transit may bring one long after a return."""
        unconfirmed = self.world.unconfirmed()
        for message in unconfirmed:
            self._carry(message)
        if self.queue or unconfirmed:
            self._at(self.now + REPEATED_SECONDS, self._repeat)

    def _fund_later(self, name: str) -> None:
        self._at(self.now + self.rng.uniform(0, 500), lambda: self._fund(name))

    def _fund(self, name: str) -> None:
        self.world = self.world.funded(name)
        if not self.world.sagas[name].has_ended:
            self._fund_later(name)

    def _begin(self, name: str) -> None:
        if self.is_away:
            return
        terms = Terms(
            name, self.rng.choice(DIRECTIONS), "did:source", "did:other", self.rng.randint(1, 400), "AVT"
        )
        self.world = self.world.begun(terms, self.now)
        if name in self.world.sagas:
            self._ask(name)

    def _ask(self, name: str) -> None:
        self.world, messages = self.world.due(name, self.now)
        for message in messages:
            self._carry(message)
        if messages or not self.world.sagas[name].has_ended:
            self._at(self.now + self.rng.uniform(20, 90), lambda: self._ask(name))

    def _carry(self, message: Message) -> None:
        rng, is_faulty = self.rng, self.now < HEALED
        fault = "none"
        if is_faulty and rng.random() < self.lost:
            self._cover(message, "lost")
            return
        copies = 2 if is_faulty and rng.random() < self.doubled else 1
        for _ in range(copies):
            delay = rng.uniform(0.01, 0.5)
            if is_faulty and rng.random() < self.late:
                fault, delay = "late", delay + rng.choice((30.0, 200.0, 500.0))
            self._at(self.now + delay, lambda: self._deliver(message))
        self._cover(message, "doubled" if copies == 2 else fault)

    def _deliver(self, message: Message) -> None:
        if self.is_away:
            return
        known = self.world.sagas[message.terms.saga_id]
        self.world, answers = self.world.received(message)
        after = self.world.sagas[message.terms.saga_id]
        self.made_up += known.is_abandoned and after.state is State.COMPLETED
        if known.is_abandoned and after.state is State.IN_DOUBT:
            self.doubts += 1
            self._fund_later(message.terms.saga_id)
        for answer in answers:
            self._carry(answer)

    def _cover(self, message: Message, fault: str) -> None:
        state = self.world.sagas[message.terms.saga_id].state
        self.coverage.add((state.value, message.type.value, fault))


def explore(world: World, sagas: list[Terms], most: int, *, later: Sequence[Terms] = ()) -> int:
    """Every order of messages of these sagas, each lost or repeated at any place; returns the number of states.

    Time is one of two: before the deadline, and after it. At any moment the sources may abandon the destination once, which is a
    peer again at once; the sagas `later` begin at any moment, and what a doubt lacks is paid in at any moment. Raises: Broken.
    """
    for terms in sagas:
        world = world.begun(terms, 0.0)
    seen: set[object] = set()
    todo: list[tuple[World, frozenset[Message], bool]] = [(world, frozenset(), False)]
    while todo:
        present, in_transit, is_late = todo.pop()
        key = (present.key(), in_transit, is_late)
        if key in seen:
            continue
        seen.add(key)
        assert len(seen) <= most, "the model is too large"
        now = 1000.0 if is_late else 0.0
        steps = [(present, in_transit, True)] if not is_late else []
        if present.given_up:
            steps.append((present, in_transit | set(present.unconfirmed()), is_late))
        else:
            steps.append((present.abandoned(), in_transit, is_late))
        begun = [present.begun(terms, now) for terms in later if terms.saga_id not in present.sagas]
        funded = [present.funded(name) for name in present.sagas]
        steps += [(after, in_transit, is_late) for after in (*begun, *funded)]
        for name in present.sagas:
            after, messages = present.due(name, now)
            steps.append((after, in_transit | set(messages), is_late))
        # What is in transit stays so: any message may arrive again at any time, or never.
        for message in in_transit:
            after, messages = present.received(message)
            steps.append((after, in_transit | set(messages), is_late))
        todo += steps
        _require_an_end(present, now=1000.0)
    return len(seen)


def _require_an_end(world: World, now: float) -> None:
    """From each state two faithful rounds of questions, and of decisions that are shown, end everything; what lacks is paid in."""
    for _ in range(2):
        for name in list(world.sagas):
            for _ in range(2):
                world, messages = world.due(name, now)
                world = _exchanged(world, messages)
        world = _exchanged(world, world.unconfirmed())
        for name in world.sagas:
            world = world.funded(name)
    world.require_ended()


def _exchanged(world: World, messages: tuple[Message, ...]) -> World:
    for message in messages:
        world, answers = world.received(message)
        for answer in answers:
            world, _ = world.received(answer)
    return world
