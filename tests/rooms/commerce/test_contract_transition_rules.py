"""The transitions of contracts: new status, amounts, the deadline that applies next, and the time while it is stopped."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hansa.foundation.values.money import Minor
from hansa.rooms.commerce.contracts import rules
from hansa.rooms.commerce.contracts.contract import Contract, Ending, Payment, Status
from hansa.rooms.commerce.contracts.errors import TooManySubmissions
from tests.rooms.commerce.contract_records import (
    AMOUNT,
    DAY,
    HOUR,
    MOMENT,
    NOW,
    PROVIDER,
    accepted,
    contract,
    milestones,
    payment_of,
    submitted,
)

TRANSFER = UUID(int=3)
WINDOW = timedelta(hours=72)
DATES = {"submit_by": NOW + 2 * DAY, "review_by": NOW + 4 * DAY}
TWO_PARTS = {"milestones": milestones(200, 300, due=(NOW + DAY, NOW + 2 * DAY)), **DATES}
HELD = {"hold_id": 5, "funded": True}


def approve(present: Contract) -> Contract:
    return rules.approved(present, payment_of(present))


def states(present: Contract) -> list[str]:
    return [one.state for one in present.milestones]


def test_acceptance_names_the_provider_and_begins_its_turn():
    after = rules.accepted(contract(provider_did=None, **DATES), PROVIDER)
    assert (after.status, after.provider_did) == (Status.ACCEPTED, PROVIDER)
    assert after.accepted_at == after.turn_at == NOW
    assert after.due_at == DATES["submit_by"]


@pytest.mark.parametrize(
    ("changes", "due_at"),
    [
        ({}, None),
        ({"review_by": NOW + 4 * DAY}, NOW + 4 * DAY),
        (DATES, NOW + 2 * DAY),
        ({**DATES, "submit_by": NOW + MOMENT}, NOW + MOMENT),
        ({**DATES, "submit_by": NOW}, NOW + 4 * DAY),
        ({**DATES, "submit_by": NOW - DAY}, NOW + 4 * DAY),
        ({"submit_by": NOW - 2 * DAY, "review_by": NOW - DAY}, NOW - DAY),
        (TWO_PARTS, NOW + DAY),
        ({**TWO_PARTS, "milestones": milestones(200, 300, due=(NOW, NOW + DAY))}, NOW + DAY),
        ({**TWO_PARTS, "milestones": milestones(200, 300)}, NOW + 2 * DAY),
    ],
)
def test_accepted_work_is_due_at_the_first_date_after_its_turn_and_else_at_the_review(
    changes: dict[str, object], due_at: datetime | None
):
    assert accepted(**changes).due_at == due_at


def test_a_date_of_an_approved_milestone_does_not_return():
    first = replace(approve(submitted(**TWO_PARTS)), now=NOW - DAY)
    assert rules.returned(rules.submitted(first)).due_at == NOW + 2 * DAY


def test_a_submission_is_counted_and_waits_for_its_review():
    after = submitted(**TWO_PARTS)
    assert (after.status, after.submissions, after.submitted_at) == (Status.SUBMITTED, 1, NOW)
    assert (states(after), after.milestones[0].submitted_at) == (["submitted", "pending"], NOW)
    assert after.due_at == DATES["review_by"]


def test_work_is_submitted_up_to_a_hundred_times():
    last = rules.submitted(accepted(submissions=rules.SUBMISSIONS_MAX - 1))
    assert last.submissions == rules.SUBMISSIONS_MAX
    with pytest.raises(TooManySubmissions):
        rules.submitted(rules.returned(last))


def test_requested_changes_return_the_work_and_begin_a_new_turn():
    later = replace(submitted(**TWO_PARTS), now=NOW + DAY)
    after = rules.returned(later)
    assert (after.status, after.turn_at, states(after)) == (
        Status.ACCEPTED,
        NOW + DAY,
        ["pending", "pending"],
    )
    assert after.due_at == NOW + 2 * DAY
    assert after.is_in_review


def test_an_approved_milestone_is_paid_and_returns_the_contract_for_the_next_one():
    payment = Payment(7, Minor(200), Minor(3), TRANSFER)
    after = rules.approved(replace(submitted(**TWO_PARTS), crossing=TRANSFER), payment)
    assert (after.status, after.turn_at, after.crossing) == (Status.ACCEPTED, NOW, None)
    assert (after.amount_paid, after.fee_paid, after.unpaid) == (200, 3, 300)
    assert (after.payment_tx_id, after.payment_transfer) == (7, TRANSFER)
    assert (after.milestones[0].payment_tx_id, after.milestones[0].payment_transfer) == (7, TRANSFER)
    assert states(after) == ["approved", "pending"]
    assert (after.completed_at, after.ended_because, after.due_at) == (None, None, NOW + 2 * DAY)


def test_the_last_approval_completes_the_contract_and_no_suspension_is_followed_any_more():
    first = approve(submitted(**TWO_PARTS))
    present = rules.stopped(rules.submitted(first), "suspension", NOW)
    after = rules.approved(present, payment_of(present, fee=5, tx_id=8))
    assert (after.status, after.ended_because) == (Status.COMPLETED, Ending.APPROVED)
    assert after.completed_at == after.ended_at == NOW
    assert (after.amount_paid, after.fee_paid, after.unpaid, after.payment_tx_id) == (AMOUNT, 7, 0, 8)
    assert [one.payment_tx_id for one in after.milestones] == [7, 8]
    assert (after.stops, after.stopped_at, after.due_at) == ((), None, None)


def test_a_payment_that_crosses_leaves_the_contract_as_it_is_until_it_is_decided():
    present = submitted(**TWO_PARTS)
    crossing = rules.paying(present, TRANSFER)
    assert crossing == replace(present, crossing=TRANSFER)
    assert rules.unpaid(crossing) == present


@pytest.mark.parametrize(
    ("present", "keeps_hold"),
    [
        (accepted(**DATES, **HELD), False),
        (submitted(**DATES, **HELD), True),
        (submitted(**DATES), False),
        (rules.returned(submitted(**DATES, **HELD)), True),
        (accepted(**TWO_PARTS, **HELD), False),
        (submitted(**TWO_PARTS, **HELD), True),
        (approve(submitted(**TWO_PARTS, **HELD)), False),
        (rules.returned(submitted(**TWO_PARTS, **HELD)), True),
    ],
)
def test_a_failure_keeps_the_hold_for_a_dispute_where_unapproved_work_was_submitted(
    present: Contract, keeps_hold: bool
):
    after = rules.failed(present, Ending.NOT_REVIEWED, WINDOW)
    assert (after.status, after.ended_because, after.ended_at) == (Status.FAILED, Ending.NOT_REVIEWED, NOW)
    until = NOW + WINDOW if keeps_hold else None
    assert after.hold_release_at == after.due_at == until
    freed = rules.hold_freed(after)
    assert (freed.hold_release_at, freed.due_at, freed.status) == (None, None, Status.FAILED)
    released = ["approved" if state == "approved" else "released" for state in states(present)]
    assert states(after) == (states(present) if keeps_hold else released)
    assert states(freed) == released


@pytest.mark.parametrize(
    ("status", "because"),
    [(Status.CANCELLED, Ending.CANCELLED), (Status.EXPIRED, Ending.PROPOSAL_EXPIRED)],
)
def test_a_proposal_that_ends_releases_its_milestones_and_has_no_deadline(status: Status, because: Ending):
    after = rules.withdrawn(contract(**TWO_PARTS, due_at=NOW + DAY), status, because)
    assert (after.status, after.ended_because, after.ended_at) == (status, because, NOW)
    assert (states(after), after.due_at) == (["released", "released"], None)


def test_a_reason_stops_deadlines_once_and_the_earliest_moment_counts():
    present = accepted(**DATES)
    one = rules.stopped(present, "first", NOW - HOUR)
    assert (one.stops, one.stopped_at, one.due_at) == (("first",), NOW - HOUR, None)
    assert rules.stopped(one, "first", NOW - DAY) == one
    later, earlier = (rules.stopped(one, "second", since).stopped_at for since in (NOW, NOW - DAY))
    assert (later, earlier) == (NOW - HOUR, NOW - DAY)


def test_deadlines_run_on_when_the_last_reason_ends_with_every_date_moved():
    present = replace(accepted(**TWO_PARTS), hold_release_at=NOW + 3 * DAY)
    both = rules.stopped(rules.stopped(present, "first", NOW), "second", NOW + HOUR)
    assert rules.resumed(both, "third", NOW + DAY) == both
    one = rules.resumed(both, "first", NOW + 2 * HOUR)
    assert (one.stops, one.stopped_at, one.due_at) == (("second",), NOW, None)
    after = rules.resumed(one, "second", NOW + DAY)
    assert (after.stops, after.stopped_at, after.due_at) == ((), None, present.due_at + DAY)
    for name in ("submit_by", "review_by", "expires_at", "turn_at", "hold_release_at"):
        assert getattr(after, name) == getattr(present, name) + DAY, name
    assert [one.due for one in after.milestones] == [one.due + DAY for one in present.milestones]


def test_an_end_before_its_beginning_moves_no_date():
    present = accepted(**DATES)
    assert rules.resumed(rules.stopped(present, "first", NOW), "first", NOW - DAY) == present


@pytest.mark.parametrize(
    "present",
    [
        accepted(**DATES),
        submitted(**DATES),
        rules.failed(submitted(**DATES, **HELD), Ending.REJECTED, WINDOW),
        approve(submitted(**DATES)),
    ],
    ids=lambda present: present.status,
)
def test_a_dismissed_dispute_returns_the_contract_with_the_time_that_remained(present: Contract):
    disputed = rules.disputed(present, 9)
    assert (disputed.status, disputed.dispute_id, disputed.due_at) == (Status.DISPUTED, 9, None)
    assert (disputed.stops, disputed.stopped_at) == (("dispute 9",), NOW)
    after = rules.restored(replace(disputed, now=NOW + DAY), present.status)
    assert (after.status, after.stops, after.stopped_at) == (present.status, (), None)
    assert after.due_at == (present.due_at + DAY if present.due_at else None)


def test_a_dispute_leaves_the_time_stopped_by_a_suspension_stopped():
    suspended = rules.stopped(accepted(**DATES), "suspension", NOW - HOUR)
    after = rules.restored(rules.disputed(suspended, 9), Status.ACCEPTED)
    assert (after.stops, after.stopped_at, after.due_at) == (("suspension",), NOW - HOUR, None)


def test_a_ruling_closes_the_contract_and_pays_or_releases_the_rest():
    failed = rules.failed(
        rules.submitted(approve(submitted(**TWO_PARTS, **HELD))), Ending.NOT_REVIEWED, WINDOW
    )
    disputed = rules.disputed(failed, 9)
    given, taken = rules.closed(disputed, Payment(11, failed.unpaid, Minor(4))), rules.closed(disputed, None)
    for after in (given, taken):
        assert (after.status, after.ended_because, after.ended_at) == (Status.CLOSED, Ending.RULING, NOW)
        assert (after.hold_release_at, after.stops, after.stopped_at, after.due_at) == (None, (), None, None)
    assert (given.amount_paid, given.fee_paid, given.payment_tx_id) == (AMOUNT, 6, 11)
    assert [(one.state, one.payment_tx_id) for one in given.milestones] == [("approved", 7), ("approved", 11)]
    assert (taken.amount_paid, taken.fee_paid, taken.payment_tx_id) == (200, 2, 7)
    assert states(taken) == ["approved", "released"]


def test_the_proposal_of_a_resumed_contract_ends_later():
    present = contract(due_at=NOW + 30 * DAY)
    after = rules.resumed(rules.stopped(present, "first", NOW), "first", NOW + DAY)
    assert after.due_at == after.expires_at == NOW + 31 * DAY


def expected_deadline(present: Contract) -> datetime | None:
    """The deadline that the specification states for the status, found anew."""
    if present.stops:
        return None
    if present.status == Status.ACCEPTED:
        open_parts = [one.due for one in present.milestones if one.state != "approved"]
        dates = [date for date in (*open_parts, present.submit_by, present.review_by) if date]
        return next((date for date in dates if date > present.turn_at), present.review_by)
    return {
        Status.PROPOSED: present.expires_at,
        Status.SUBMITTED: present.review_by,
        Status.FAILED: present.hold_release_at,
    }.get(present.status)


Act = Callable[[Contract], Contract]
COURSES: dict[str, tuple[set[Status], Act, set[Status]]] = {
    "accept": ({Status.PROPOSED}, lambda one: rules.accepted(one, PROVIDER), {Status.ACCEPTED}),
    "submit": ({Status.ACCEPTED}, rules.submitted, {Status.SUBMITTED}),
    "return": ({Status.SUBMITTED}, rules.returned, {Status.ACCEPTED}),
    "approve": ({Status.SUBMITTED}, approve, {Status.ACCEPTED, Status.COMPLETED}),
    "fail": (
        {Status.ACCEPTED, Status.SUBMITTED},
        lambda one: rules.failed(one, Ending.REJECTED, WINDOW),
        {Status.FAILED},
    ),
    "stop": (set(Status), lambda one: rules.stopped(one, "suspension", one.now), set(Status)),
    "resume": (set(Status), lambda one: rules.resumed(one, "suspension", one.now), set(Status)),
    "wait": (set(Status), lambda one: replace(one, now=one.now + 7 * HOUR), set(Status)),
}
"""Acts by name: the statuses in which each is done, and those that it leads to."""


@given(
    st.lists(st.integers(1, 10**18), max_size=4),
    st.lists(st.none() | st.integers(1, 9), min_size=4, max_size=4),
    st.booleans(),
    st.lists(st.sampled_from(list(COURSES)), max_size=40),
)
def test_after_each_act_of_a_course_the_sums_are_exact_and_the_stated_deadline_applies(
    amounts: list[int], days: list[int | None], is_funded: bool, course: list[str]
):
    dates = [None if day is None else NOW + day * DAY for day in days]
    parts = milestones(*amounts, due=tuple(dates[: len(amounts)])[:2])
    present = contract(
        due_at=NOW + 30 * DAY,
        amount=Minor(sum(amounts) or AMOUNT),
        milestones=parts,
        submit_by=dates[2],
        review_by=dates[3],
        hold_id=5 if is_funded else None,
    )
    fees = submissions = 0
    for name in course:
        allowed, act, leads_to = COURSES[name]
        if present.status not in allowed:
            continue
        fees += 2 if name == "approve" else 0
        submissions += 1 if name == "submit" else 0
        present = act(present)
        assert present.status in leads_to, name
        paid = [one.amount for one in present.milestones if one.state == "approved"]
        whole = present.amount if not parts and present.status == Status.COMPLETED else 0
        assert present.amount_paid == sum(paid) + whole, name
        assert (present.fee_paid, present.unpaid) == (fees, present.amount - present.amount_paid), name
        assert (present.unpaid == 0) == (present.status == Status.COMPLETED), name
        assert bool(present.stops) == (present.stopped_at is not None), name
        if name != "wait":
            assert present.due_at == expected_deadline(present), name
    assert present.submissions == submissions


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 300), st.integers(0, 300)), max_size=6))
def test_deadlines_move_by_the_time_from_the_first_reason_to_the_end_of_the_last(
    spans: list[tuple[int, int, int]],
):
    present = after = accepted(**TWO_PARTS)
    named = {f"reason {number}": (since, since + length) for number, since, length in spans}
    for reason, (since, _) in named.items():
        after = rules.stopped(after, reason, NOW + since * HOUR)
    for reason, (_, until) in sorted(named.items(), key=lambda one: one[1][1]):
        after = rules.resumed(after, reason, NOW + until * HOUR)
    moved = max((until for _, until in named.values()), default=0)
    moved -= min((since for since, _ in named.values()), default=0)
    assert after.due_at - present.due_at == after.review_by - present.review_by == moved * HOUR
