"""federation/growth: calls, connections and time of propagation per registry while a federation grows, computed and simulated.

- The intervals are those of the code. The cost of a call is measured by federation/quiet-peers; here it is a parameter.
- Three shapes: `mesh`, where every registry is a peer of every other; `hub`, where one registry in the middle passes cards on to
  all others; `relays`, about the square root of all registries, peers of each other, of which every other one has two.
- Registries poll their peers at random phases, with the spread that the jobs have. An act of enforcement reaches peers by hints as
  well, sixteen at once; a relay passes it on with the card. Nothing is sent over a network.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from bench.figures import Figures, percentile
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.auditor.witnessing.asking import ASK_SECONDS
from hansa.rooms.auditor.witnessing.peer_logs import FOLLOW_SECONDS
from hansa.rooms.catalogue.peer_acts.hints import HINTS
from hansa.rooms.catalogue.peer_jobs import ACTS_EVERY_SECONDS
from hansa.rooms.federation.descriptor import OWN_TRUST_SECONDS
from hansa.rooms.federation.peers.synchronizing import SPREAD

SIZES = (10, 30, 100, 300, 1000)
SYNC_SECONDS = float(Settings.model_fields["federation_sync_interval_seconds"].default)
CALL_SECONDS = 0.05
"""Of a call between two registries, with the work at its end."""
CALL_CPU_SECONDS = 0.002
"""On one side, with the database."""
CORE_SHARE_MAX = 0.1
"""Of one core: what an operator may be expected to spend on peers that do nothing."""
HISTORIES, HISTORIES_FULL = 20, 200
PEERS_OF_A_MEMBER = 2

CALLS_EVERY_SECONDS = {
    "documents": SYNC_SECONDS,
    "cards": SYNC_SECONDS,
    "acts": float(ACTS_EVERY_SECONDS),
    "witness": 2.0 * FOLLOW_SECONDS,
    "keys of the log": 600.0,
    "cosignature": float(ASK_SECONDS),
    "trust": float(OWN_TRUST_SECONDS),
}
"""The calls that a registry makes to each peer where nothing happens, each with its interval."""

Neighbours = Callable[[int], Iterator[int]]


@dataclass(frozen=True)
class Shape:
    """Peers of each registry: `busiest` and `least` are the numbers of peers; registry 0 is an ordinary member."""

    name: str
    busiest: int
    least: int
    neighbours: Neighbours


def shapes(size: int) -> list[Shape]:
    """The three shapes of a federation of that size."""
    return [_mesh(size), _hub(size), _relays(size)]


def _mesh(size: int) -> Shape:
    # What came from a peer is passed on to nobody: registry 0 is the home, all others are at its side.
    return Shape("mesh", size - 1, size - 1, lambda one: iter(range(1, size) if one == 0 else ()))


def _hub(size: int) -> Shape:
    hub = size - 1
    return Shape("hub", size - 1, 1, lambda one: iter(range(hub) if one == hub else (hub,)))


def _relays(size: int) -> Shape:
    count = max(2, round(math.sqrt(size)))
    first = size - count

    def relays_of(member: int) -> set[int]:
        return {first + member % count, first + (member + 1 + member // count) % count}

    members: dict[int, list[int]] = {relay: [] for relay in range(first, size)}
    for member in range(first):
        for relay in relays_of(member):
            members[relay].append(member)

    def neighbours(one: int) -> Iterator[int]:
        if one < first:
            return iter(relays_of(one))
        return iter([*members[one], *(relay for relay in range(first, size) if relay != one)])

    busiest = max(len(found) for found in members.values()) + count - 1
    return Shape("relays", busiest, PEERS_OF_A_MEMBER, neighbours)


def calls_per_second(peers: int) -> float:
    """The calls of a registry with so many peers, made and received, while nothing happens."""
    return 2 * peers * sum(1 / seconds for seconds in CALLS_EVERY_SECONDS.values())


def spread(shape: Shape, every: float, lot: random.Random, *, hints: bool) -> list[float]:
    """Return the times at which each other registry has the act of registry 0, in seconds, in rising order.

    Its peers poll `every` so many seconds, or are sent hints; an act that a relay passes on is read at the interval of cards.
    """
    known: dict[int, float] = {}
    waiting = [(0.0, 0)]
    while waiting:
        at, one = heappop(waiting)
        if one in known:
            continue
        known[one] = at
        others = [other for other in shape.neighbours(one) if other not in known]
        lot.shuffle(others)
        for number, other in enumerate(others):
            interval = every if one == 0 else SYNC_SECONDS
            after = lot.uniform(0, interval * lot.uniform(1 - SPREAD, 1 + SPREAD)) + CALL_SECONDS
            if hints and one == 0:
                after = min(after, (number // HINTS.at_once + 2) * CALL_SECONDS)
            heappush(waiting, (at + after, other))
    return sorted(at for one, at in known.items() if one != 0)


async def run(*, full: bool) -> Figures:
    figures = Figures()
    for size in SIZES:
        for shape in shapes(size):
            _report(size, shape, HISTORIES_FULL if full else HISTORIES, figures)
    one = calls_per_second(1)
    most = int(CORE_SHARE_MAX / (one * CALL_CPU_SECONDS))
    figures.notes.append(
        f"each peer costs {one:.3f} calls/s; at {CALL_CPU_SECONDS * 1000:.1f} ms a call {CORE_SHARE_MAX:.0%} of a core"
        f" are {most} peers: beyond that a hub or relays take over"
    )
    return figures


def _report(size: int, shape: Shape, histories: int, figures: Figures) -> None:
    begins = f"{size:>4} registries, {shape.name}"
    lot = random.Random(size)
    for who, peers in (("busiest", shape.busiest), ("least", shape.least)):
        figures.add(f"{begins}: calls, {who}", "/s", [calls_per_second(peers)])
    figures.add(f"{begins}: connections, busiest", "", [2.0 * shape.busiest])
    for what, every, hints in (
        ("a card", SYNC_SECONDS, False),
        ("an act, hints", float(ACTS_EVERY_SECONDS), True),
        ("an act, no hints", float(ACTS_EVERY_SECONDS), False),
    ):
        found = [spread(shape, every, lot, hints=hints) for _ in range(histories)]
        figures.books_are_sound &= all(len(times) == size - 1 for times in found)
        figures.add(f"{begins}: {what}, p99", "s", [percentile(times, 0.99) for times in found])
