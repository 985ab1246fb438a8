"""Rules of every history of the bridge; planted bugs do not stay unseen."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from hansa.rooms.transfers.bridge import sagas
from hansa.rooms.transfers.bridge.messages import Direction, Message, MessageType, Terms
from hansa.rooms.transfers.bridge.sagas import Decided, Decision, Inputs, Move, Saga, State
from tests.bridge.histories import History, explore
from tests.bridge.model import Books, Broken, World
from tests.properties.scale import by_tier

HISTORIES = by_tier(3_000, 100_000, 1_000_000)
WRAP = Terms("s0", Direction.WRAP, "did:source", "did:other", 60, "AVT")
SECOND = replace(WRAP, saga_id="s1", amount=30)
REDEEM = Terms("s2", Direction.REDEEM, "did:source", "did:other", 30, "AVT")
BRIDGED = World(Books(free=100, locked=60, wrapped=60))


def test_wrapped_units_are_never_more_than_locks_and_every_saga_ends_alike_on_both_sides():
    coverage: set[tuple[str, str, str]] = set()
    made_up = doubts = 0
    for seed in range(HISTORIES):
        history = History(seed)
        try:
            history.run()
        except Broken as broken:
            pytest.fail(f"seed {seed}: {broken}")
        coverage |= history.coverage
        made_up += history.made_up
        doubts += history.doubts
    print(
        f"{HISTORIES} histories, {made_up} made up, {doubts} in doubt, {len(coverage)} combinations of state, message and fault"
    )
    assert len(coverage) >= 50, sorted(coverage)
    assert made_up > HISTORIES // 50


@pytest.mark.parametrize(
    "terms",
    [[WRAP], [REDEEM], [WRAP, SECOND], [WRAP, REDEEM], [REDEEM, replace(REDEEM, saga_id="s3", amount=30)]],
    ids=["wrap", "redeem", "two wraps", "wrap and redeem", "double redeem"],
)
def test_a_small_bridge_holds_in_every_state_that_it_can_reach(terms: list[Terms]):
    states = explore(BRIDGED, terms, most=200_000)
    print(f"{states} states")
    assert states > 10


def test_a_saga_that_was_given_up_is_made_up_for_although_its_units_were_locked_for_another_since():
    states = explore(World(Books(free=60)), [WRAP], most=200_000, later=[SECOND])
    print(f"{states} states")
    assert states > 10


def test_a_timeout_against_a_late_success_completes():
    saga = sagas.begin(WRAP, 0.0).saga
    assert saga is not None
    late = sagas.on_due(saga, 301.0).saga
    assert late is not None
    assert [message.type for message in sagas.outstanding(late)] == [MessageType.CANCEL]
    minted = Decision(WRAP, is_done=True)
    answer = sagas.decide(minted, Message(MessageType.CANCEL, WRAP), Inputs()).answer
    assert answer is not None
    completed = sagas.on_answer(late, answer, Inputs()).saga
    assert completed is not None
    assert completed.state is State.COMPLETED


def _refund_by_time(patch: pytest.MonkeyPatch) -> None:
    right = sagas.on_due

    def on_due(saga: Saga, now: float) -> Move:
        move = right(saga, now)
        if move.saga is None or move.saga.state is not State.TIMED_OUT:
            return move
        return sagas.on_answer(saga, Message(MessageType.CANCELLED, saga.terms), Inputs())

    patch.setattr(sagas, "on_due", on_due)


def _mint_each_request(patch: pytest.MonkeyPatch) -> None:
    right = sagas.decide
    patch.setattr(sagas, "decide", lambda _, message, inputs: right(None, message, inputs))


def _no_tombstone(patch: pytest.MonkeyPatch) -> None:
    right = sagas.decide

    def decide(decision: Decision | None, message: Message, inputs: Inputs) -> Decided:
        decided = right(decision, message, inputs)
        return replace(decided, is_new=False) if message.type is MessageType.CANCEL else decided

    patch.setattr(sagas, "decide", decide)


def _apply_each_answer(patch: pytest.MonkeyPatch) -> None:
    right = sagas.on_answer

    def on_answer(saga: Saga | None, message: Message, inputs: Inputs) -> Move:
        is_over = saga is not None and saga.has_ended
        reopened = replace(saga, state=State.MINT_REQUESTED) if saga is not None and is_over else saga
        return right(reopened, message, inputs)

    patch.setattr(sagas, "on_answer", on_answer)


def _cancel_what_was_done(patch: pytest.MonkeyPatch) -> None:
    right = sagas.decide

    def decide(decision: Decision | None, message: Message, inputs: Inputs) -> Decided:
        if decision is not None and message.type is MessageType.CANCEL:
            return Decided(decision, Message(MessageType.CANCELLED, message.terms, "CANCELLED"))
        return right(decision, message, inputs)

    patch.setattr(sagas, "decide", decide)


@pytest.mark.parametrize(
    "plant", [_refund_by_time, _mint_each_request, _no_tombstone, _apply_each_answer, _cancel_what_was_done]
)
def test_a_bug_in_the_bridge_is_found(
    plant: Callable[[pytest.MonkeyPatch], Any], monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    with pytest.raises(Broken):
        _run_many()


def _an_abandoned_saga_is_final(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sagas, "_on_abandoned", lambda saga, message, inputs: Move(saga, confirms=True))


def _units_for_the_abandoned_stay_aside(patch: pytest.MonkeyPatch) -> None:
    right = sagas.on_abandon
    patch.setattr(sagas, "on_abandon", lambda saga: replace(right(saga), money=None))


@pytest.mark.parametrize("plant", [_an_abandoned_saga_is_final, _units_for_the_abandoned_stay_aside])
def test_a_bug_that_only_abandoned_registries_show_is_found(
    plant: Callable[[pytest.MonkeyPatch], Any], monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    _run_many(abandons=False)
    with pytest.raises(Broken):
        _run_many()


def _run_many(*, abandons: bool = True) -> None:
    for seed in range(2_000):
        History(seed, abandons=abandons).run()
