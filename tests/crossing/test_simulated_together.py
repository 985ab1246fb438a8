"""Seeded histories of swaps, bridges and slashes at once: every book adds up, and both sides of everything end alike."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from hansa.rooms.commerce.settlements import settlement as slashes
from hansa.rooms.transfers.bridge import sagas
from hansa.rooms.transfers.bridge.messages import Message, MessageType
from tests.crossing.model import Broken
from tests.crossing.swaps import abort_keeps_what_was_pending
from tests.crossing.together import TogetherHistory
from tests.properties.scale import by_tier

HISTORIES = by_tier(150, 100_000, 1_000_000)
HISTORIES_FOR_A_BUG = 1_000
COMBINATIONS = 60


def test_swaps_bridges_and_slashes_at_once_lose_and_make_no_unit_and_end_alike_on_both_sides():
    coverage: set[object] = set()
    done = {"swaps": 0, "sagas": 0, "slashes": 0}
    for seed in range(HISTORIES):
        history = TogetherHistory(seed)
        try:
            history.run()
        except Broken as broken:
            pytest.fail(f"seed {seed}: {broken}")
        coverage |= set(history.coverage)
        for name, number in history.counted().items():
            done[name] += number
    print(f"{HISTORIES} histories, {done}, {len(coverage)} combinations of state, message and fault")
    assert len(coverage) >= COMBINATIONS
    assert min(done.values()) > HISTORIES // 4


def unlock_twice(patch: pytest.MonkeyPatch) -> None:
    """Each request to unlock is carried out."""
    right = sagas.decide
    patch.setattr(sagas, "decide", lambda _, message, refusal: right(None, message, refusal))


def refund_by_time(patch: pytest.MonkeyPatch) -> None:
    """After five minutes the source returns the units without an answer."""
    right = sagas.on_due

    def on_due(saga: sagas.Saga, now: float) -> sagas.Move:
        move = right(saga, now)
        if move.saga.state is not sagas.State.TIMED_OUT:
            return move
        return sagas.on_answer(saga, Message(MessageType.CANCELLED, saga.terms))

    patch.setattr(sagas, "on_due", on_due)


def mint_each_outcome(patch: pytest.MonkeyPatch) -> None:
    """A confirmation that arrives again compensates again."""
    right = slashes.on_outcome
    patch.setattr(
        slashes,
        "on_outcome",
        lambda one, outcome: right(replace(one, is_closed=False, status=slashes.Status.SLASHING), outcome),
    )


def expiry_is_final(patch: pytest.MonkeyPatch) -> None:
    """The asking side ends by its own clock."""
    right = slashes.on_time

    def on_time(one: slashes.Settlement, now: float) -> slashes.Settlement:
        after = right(one, now)
        return replace(after, is_closed=True) if after.status is slashes.Status.EXPIRED else after

    patch.setattr(slashes, "on_time", on_time)


PLANTED = (abort_keeps_what_was_pending, unlock_twice, refund_by_time, mint_each_outcome, expiry_is_final)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_bug_in_one_of_them_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    for seed in count():
        assert seed < HISTORIES_FOR_A_BUG, f"not found: {plant.__doc__}"
        try:
            TogetherHistory(seed).run()
        except Broken:
            return
