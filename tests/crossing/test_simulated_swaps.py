"""Swaps as a model: no unit is lost or made, k never falls, and both registries agree on the reserves.

Seeded histories, and small models of which every state is visited.
"""

from itertools import count

import pytest
from msgspec.structs import replace

from hansa.rooms.transfers.crossing import receiver
from tests.crossing.exploration import Budget, explore
from tests.crossing.model import Broken
from tests.crossing.swaps import (
    PLANTED,
    EndedPoolHistory,
    Plant,
    SwapHistory,
    output_stays_in_the_reserve,
    quiet_pools,
    small_world,
)
from tests.properties.scale import by_tier

HISTORIES = by_tier(400, 100_000, 1_000_000)
HISTORIES_FOR_A_BUG = 2_000

FAILED_ONCE = (5_687,)
"""Seeds of histories that once broke an invariant: a restored registry promised another price than the one that was committed."""


def test_every_swap_is_decided_alike_and_the_reserves_agree_once_the_network_heals():
    committed = 0
    for seed in range(HISTORIES):
        history = SwapHistory(seed)
        try:
            history.run()
        except Broken as broken:
            pytest.fail(f"seed {seed}: {broken}")
        committed += sum(
            kind == "commit_in"
            for one in history.honest.values()
            for kept in one.toward.values()
            for kind, _ in kept.moved
        )
    assert committed > HISTORIES // 2
    print(f"{HISTORIES} histories, {committed} swaps")


@pytest.mark.parametrize("seed", FAILED_ONCE)
def test_a_history_that_failed_once_holds(seed: int):
    SwapHistory(seed).run()


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_bug_in_swaps_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch):
    plant(monkeypatch)
    for seed in count():
        assert seed < HISTORIES_FOR_A_BUG, f"not found: {plant.__doc__}"
        try:
            SwapHistory(seed).run()
        except Broken:
            return


def test_a_pool_has_nothing_pending_once_its_peer_is_abandoned_whenever_that_is():
    given_back = _pools_given_back()
    print(f"{HISTORIES} histories, {given_back} pools that were busy")
    assert given_back > HISTORIES // 4


def test_a_swap_that_stays_pending_with_an_abandoned_peer_is_found(monkeypatch: pytest.MonkeyPatch):
    right = receiver.on_abandon
    monkeypatch.setattr(receiver, "on_abandon", lambda received: replace(right(received), money=()))
    with pytest.raises(Broken, match="a peer that is gone"):
        _pools_given_back()


def _pools_given_back() -> int:
    return sum(EndedPoolHistory(seed).run().given_back for seed in range(HISTORIES))


FROM_HOME = (("a", "b"),)
TO_HOME = (("b", "a"),)
OPPOSITE = (("a", "b"), ("b", "a"))
SAME_DIRECTION = (("b", "a"), ("b", "a"))


SMALL = {
    "from home, faults": (FROM_HOME, by_tier(Budget(lost=1), *2 * (Budget(lost=1, doubled=1, crashes=1),))),
    "to home, faults": (TO_HOME, by_tier(Budget(1, 1), *2 * (Budget(lost=1, doubled=1, crashes=1),))),
    "from home, timeout": (FROM_HOME, Budget(lost=1, timeouts=1)),
    "to home, timeout": (TO_HOME, Budget(lost=1, timeouts=1)),
    "to home, rewind": (TO_HOME, Budget(rewinds=1)),
    "opposite": (OPPOSITE, by_tier(Budget(), *2 * (Budget(lost=1),))),
    "same direction": (SAME_DIRECTION, by_tier(Budget(), *2 * (Budget(lost=1),))),
}


@pytest.mark.parametrize(("swaps", "budget"), SMALL.values(), ids=SMALL)
def test_a_small_pool_holds_in_every_state_that_it_can_reach(
    swaps: tuple[tuple[str, str], ...], budget: Budget
):
    explored = explore(small_world(swaps, budget), most=100_000, at_end=quiet_pools)
    print(f"{explored.states} states, {explored.ends} ends, {len(explored.coverage)} state x message x fault")
    assert explored.is_complete
    assert explored.ends > 0


def test_the_exploration_finds_reserves_that_differ(monkeypatch: pytest.MonkeyPatch):
    output_stays_in_the_reserve(monkeypatch)
    with pytest.raises(Broken):
        explore(small_world(TO_HOME, Budget()), most=10_000, at_end=quiet_pools)
