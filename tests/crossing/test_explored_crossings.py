"""Small models of two registries, explored: every order of messages, with every place of a fault."""

import pytest

from tests.crossing.exploration import Budget, explore, founded
from tests.crossing.model import Broken
from tests.crossing.planted import credit_each_commit, nothing_is_sent_again
from tests.properties.scale import by_tier

ONE = (("a", "b"),)
OPPOSITE = (("a", "b"), ("b", "a"))
SAME_DIRECTION = (("a", "b"), ("a", "b"))
WHOLE_STATES = by_tier(15_000, 2_000_000, 20_000_000)


@pytest.mark.parametrize(
    ("transfers", "budget"),
    [
        (ONE, Budget(lost=1, doubled=1, crashes=1)),
        (ONE, Budget(lost=1, timeouts=1)),
        (ONE, Budget(rewinds=1)),
        (OPPOSITE, Budget(lost=1)),
        (OPPOSITE, Budget(crashes=1)),
        (SAME_DIRECTION, Budget()),
    ],
    ids=["faults", "timeout", "rewind", "opposite and lost", "opposite and crash", "same direction"],
)
def test_a_small_model_holds_in_every_state_that_it_can_reach(
    transfers: tuple[tuple[str, str], ...], budget: Budget
):
    explored = explore(founded(transfers, budget), most=100_000)
    assert explored.is_complete
    assert explored.ends > 0


def test_two_transfers_with_a_crash_a_lost_a_doubled_message_and_a_rewind_hold_as_far_as_they_are_explored():
    explored = explore(founded(OPPOSITE, Budget(1, 1, 1, 1)), most=WHOLE_STATES)
    print(f"{explored.states} states, {explored.ends} ends, {len(explored.coverage)} state x message x fault")
    assert explored.ends > 0


def test_the_exploration_finds_a_second_credit(monkeypatch: pytest.MonkeyPatch):
    credit_each_commit(monkeypatch)
    with pytest.raises(Broken):
        explore(founded(ONE, Budget(doubled=1)), most=10_000)


def test_the_exploration_finds_a_credit_that_is_not_sent_again_after_a_rewind(
    monkeypatch: pytest.MonkeyPatch,
):
    nothing_is_sent_again(monkeypatch)
    with pytest.raises(Broken):
        explore(founded(ONE, Budget(rewinds=1)), most=10_000)
