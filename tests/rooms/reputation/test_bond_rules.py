"""The rules of a bond (Specification 6, "Bond"): none → active → releasing → released; active → slashed."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.reputation.bonds.bond import Bond, Business, Policy, State
from hansa.rooms.reputation.bonds.errors import BondBelowMinimum, BondBlocked, BondWrongState
from hansa.rooms.reputation.bonds.rules import (
    blockers_of,
    deposited,
    maturity_of,
    released,
    releasing,
    slashed,
)

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MATURITY, WINDOW = timedelta(days=30), timedelta(hours=72)
MOMENT = timedelta(microseconds=1)
MINIMUM = Minor(1_000)
POLICY = Policy("enforce", MINIMUM, MATURITY, "AVT")
NO_BUSINESS = Business(ZERO, 0)


def bond(state: State = State.ACTIVE, amount: int = 1_500, **changes: object) -> Bond:
    """A bond with a hold, unless it is `none`, whose maturity is in the past."""
    is_held = state not in (State.NONE, State.RELEASED)
    made = Bond("did:hansa:a", 1, state, 7 if is_held else None, Minor(amount), NOW - MATURITY, None, NOW)
    return replace(made, **changes)


def empty() -> Bond:
    return Bond("did:hansa:a", None, State.NONE, None, ZERO, None, None, NOW)


def in_release(**changes: object) -> Bond:
    return bond(State.RELEASING, **{"releasable_at": NOW - MOMENT, **changes})


def test_a_deposit_that_reaches_the_minimum_makes_the_bond_active():
    made = deposited(empty(), MINIMUM, POLICY)
    assert (made.state, made.amount, made.matures_at) == (State.ACTIVE, MINIMUM, NOW + MATURITY)


def test_a_deposit_below_the_minimum_is_refused_with_the_units_that_are_missing():
    with pytest.raises(BondBelowMinimum, match=r"deposit 0\.00000101 or more") as refused:
        deposited(bond(State.SLASHED, MINIMUM - 101), Minor(100), POLICY)
    assert refused.value.field == "amount"


@pytest.mark.parametrize("state", [State.ACTIVE, State.SLASHED, State.RELEASING])
def test_a_deposit_makes_a_bond_active_again_and_its_maturity_counts_from_it(state: State):
    before = bond(state, MINIMUM - 1, releasable_at=NOW)
    after = deposited(before, Minor(1), POLICY)
    assert (after.state, after.amount, after.hold_id) == (State.ACTIVE, MINIMUM, before.hold_id)
    assert (after.matures_at, after.releasable_at) == (NOW + MATURITY, None)


@pytest.mark.parametrize(
    ("matures_in", "releasable_in"),
    [
        (WINDOW - MOMENT, WINDOW),
        (WINDOW, WINDOW),
        (WINDOW + MOMENT, WINDOW + MOMENT),
        (-MATURITY, WINDOW),
    ],
)
def test_a_release_takes_until_the_maturity_and_at_least_as_long_as_a_dispute_may_be_filed(
    matures_in: timedelta, releasable_in: timedelta
):
    after = releasing(bond(matures_at=NOW + matures_in), NOW + WINDOW, NO_BUSINESS)
    assert (after.state, after.releasable_at) == (State.RELEASING, NOW + releasable_in)


def test_a_slashed_bond_with_units_left_is_released():
    assert releasing(bond(State.SLASHED, 1), NOW + WINDOW, NO_BUSINESS).state == State.RELEASING


@pytest.mark.parametrize(
    "present", [empty(), in_release(), bond(State.RELEASED, 0), bond(State.SLASHED, 0, hold_id=None)]
)
def test_a_bond_without_units_or_in_release_is_not_released_again(present: Bond):
    with pytest.raises(BondWrongState):
        releasing(present, NOW + WINDOW, NO_BUSINESS)


def test_an_open_contract_blocks_release_and_unlock():
    for act in (
        lambda: releasing(bond(), NOW + WINDOW, Business(ZERO, 1)),
        lambda: released(in_release(), Business(ZERO, 1)),
    ):
        with pytest.raises(BondBlocked) as refused:
            act()
        assert refused.value.context == {"blockers": ["open_contract"]}


def test_a_dispute_about_less_than_the_bond_blocks_no_release_and_keeps_its_amount_at_the_unlock():
    disputed = Business(Minor(1_499), 0)
    assert releasing(bond(amount=1_500), NOW + WINDOW, disputed).amount == 1_500
    after = released(in_release(amount=1_500), disputed)
    assert (after.state, after.amount, after.hold_id) == (State.RELEASING, 1_499, 7)


@pytest.mark.parametrize("amount", [1_500, 1_501])
def test_a_dispute_about_the_whole_bond_or_more_blocks_it(amount: int):
    disputed = Business(Minor(amount), 0)
    for act in (
        lambda: releasing(bond(amount=1_500), NOW + WINDOW, disputed),
        lambda: released(in_release(amount=1_500), disputed),
    ):
        with pytest.raises(BondBlocked) as refused:
            act()
        assert refused.value.context == {"blockers": ["open_dispute"]}


def test_an_unlock_at_its_time_releases_the_whole_bond():
    after = released(in_release(releasable_at=NOW), NO_BUSINESS)
    assert (after.state, after.amount, after.hold_id) == (State.RELEASED, ZERO, None)
    assert (after.matures_at, after.releasable_at) == (None, None)


def test_an_unlock_before_its_time_is_refused_with_the_time():
    with pytest.raises(BondBlocked, match=r"from 2026-11-29T12:00:00\.000001\+00:00 on") as refused:
        released(in_release(releasable_at=NOW + MOMENT), NO_BUSINESS)
    assert refused.value.context == {"blockers": ["maturity"]}


@pytest.mark.parametrize("state", [state for state in State if state != State.RELEASING])
def test_only_a_bond_in_release_is_unlocked(state: State):
    with pytest.raises(BondWrongState):
        released(bond(state), NO_BUSINESS)


@pytest.mark.parametrize(
    ("state", "left", "after"),
    [
        (State.ACTIVE, MINIMUM + 1, State.ACTIVE),
        (State.ACTIVE, MINIMUM, State.ACTIVE),
        (State.ACTIVE, MINIMUM - 1, State.SLASHED),
        (State.ACTIVE, 1, State.SLASHED),
        (State.ACTIVE, 0, State.SLASHED),
        (State.RELEASING, 1, State.RELEASING),
        (State.RELEASING, 0, State.SLASHED),
        (State.SLASHED, MINIMUM - 1, State.SLASHED),
    ],
)
def test_a_slash_that_leaves_the_minimum_stays_active_below_it_slashed(state: State, left: int, after: State):
    result = slashed(bond(state, 1_500), Minor(1_500 - left), POLICY)
    assert (result.state, result.amount) == (after, left)
    assert (result.hold_id is None) == (left == 0)


@pytest.mark.parametrize(
    ("present", "is_blocked"),
    [
        (bond(matures_at=NOW + MOMENT), True),
        (bond(matures_at=NOW), False),
        (in_release(releasable_at=NOW, matures_at=NOW + MOMENT), False),
        (in_release(releasable_at=NOW + MOMENT, matures_at=NOW), True),
        (empty(), False),
        (bond(State.SLASHED, 0, hold_id=None, matures_at=NOW + MOMENT), False),
    ],
)
def test_the_maturity_blocks_until_it_is_reached(present: Bond, is_blocked: bool):
    assert [blocker.kind for blocker in maturity_of(present)] == ["maturity"] * is_blocked


def test_open_business_names_what_blocks_the_bond():
    assert blockers_of(NO_BUSINESS) == ()
    kinds = [blocker.kind for blocker in blockers_of(Business(Minor(1), 1))]
    assert kinds == ["open_dispute", "open_contract"]
