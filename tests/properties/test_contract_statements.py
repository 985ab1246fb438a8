"""Statements about a contract, in any order and any number: the copy ends at the latest state, and each move counts once."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hansa.rooms.commerce.contracts.replicas.keeping import is_outdated, new_moves
from hansa.rooms.commerce.contracts.schemas import ContractMoveOut, ContractOut

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def stated(acts: list[str], created_at: datetime = BEGUN) -> ContractOut:
    moves = [
        ContractMoveOut(
            act=act, actor_did=None, milestone=None, note=None, at=created_at + timedelta(seconds=number)
        )
        for number, act in enumerate(acts)
    ]
    return ContractOut.model_construct(created_at=created_at, history=moves)


def taken_in(statements: list[ContractOut]) -> tuple[ContractOut | None, list[str]]:
    """The copy at the end, and the moves that were events, in their order."""
    known: ContractOut | None = None
    events: list[str] = []
    for one in statements:
        if known is not None and is_outdated(known, one):
            continue
        events += [move.act for move in new_moves(known, one)]
        known = one
    return known, events


ACTS = st.lists(st.sampled_from(["submitted", "changes_requested", "payment_failed"]), max_size=6)


@given(acts=ACTS, lengths=st.lists(st.integers(1, 7), min_size=1, max_size=12))
def test_in_any_order_the_latest_state_stays_and_each_move_counts_once(acts: list[str], lengths: list[int]):
    history = ["proposed", *acts]
    known, events = taken_in([stated(history[:length]) for length in lengths])
    latest = history[: max(lengths)]
    assert known == stated(latest)
    assert events == latest


@given(before=ACTS, after=ACTS, common=st.integers(0, 6))
def test_a_registry_that_forgot_moves_is_followed_and_only_its_new_moves_count(
    before: list[str], after: list[str], common: int
):
    kept = ["proposed", *before]
    restored = [*kept[: 1 + common], "cancelled", *after]
    known, events = taken_in([stated(kept), stated(restored)])
    assert known == stated(restored)
    assert events == [*kept, *restored[len(kept[: 1 + common]) :]]


def test_the_number_of_a_forgotten_contract_belongs_to_the_next_one():
    later = BEGUN + timedelta(days=1)
    known, events = taken_in([stated(["proposed", "accepted"]), stated(["proposed"], later)])
    assert known == stated(["proposed"], later)
    assert events == ["proposed", "accepted", "proposed"]
