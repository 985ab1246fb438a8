"""The rules of contracts before an act: sound terms, requirements for a provider, parties, states and deadlines."""

from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.commerce.contracts import rules, term_rules
from hansa.rooms.commerce.contracts.contract import Contract, Status
from hansa.rooms.commerce.contracts.errors import (
    ContractUnknown,
    DeadlinePassed,
    MilestoneNotNext,
    PaymentUnderWay,
    SelfContract,
    TermsInvalid,
    WrongParty,
    WrongState,
)
from hansa.rooms.commerce.requirement import Required
from tests.rooms.commerce.contract_records import (
    AMOUNT,
    CONTRACTOR,
    DAY,
    MOMENT,
    NOW,
    PROVIDER,
    STRANGER,
    contract,
    milestones,
    terms,
)

AMOUNTS = st.integers(1, 10**18)
OPEN_AND_FUNDED = {"provider_did": None, "funded": True, "review_by": NOW + DAY}
TRANSFER = UUID(int=3)


def test_an_agent_makes_no_contract_with_itself():
    with pytest.raises(SelfContract):
        term_rules.require_sound(terms(provider_did=CONTRACTOR))
    term_rules.require_sound(terms(provider_did=None))


@given(st.lists(AMOUNTS, min_size=1, max_size=rules.MILESTONES_MAX), st.integers(-1, 1))
def test_the_amounts_of_milestones_sum_to_the_amount_exactly(amounts: list[int], difference: int):
    made = terms(amount=Minor(sum(amounts) + difference), milestones=milestones(*amounts))
    if difference == 0:
        term_rules.require_sound(made)
        return
    with pytest.raises(TermsInvalid) as refused:
        term_rules.require_sound(made)
    assert refused.value.field == "milestones"


@given(st.lists(AMOUNTS, min_size=1, max_size=8), st.data())
def test_scaled_milestones_sum_to_the_price_and_only_the_last_has_more_than_its_share(
    amounts: list[int], data: st.DataObject
):
    total = Minor(sum(amounts))
    price = Minor(data.draw(st.integers(1, total)))
    shares = [one * price // total for one in amounts[:-1]]
    if 0 in shares:
        with pytest.raises(TermsInvalid) as refused:
            term_rules.scaled(milestones(*amounts), total, price)
        assert refused.value.field == "price"
        return
    scaled = [one.amount for one in term_rules.scaled(milestones(*amounts), total, price)]
    assert (sum(scaled), scaled[:-1]) == (price, shares)
    assert scaled[-1] >= amounts[-1] * price // total


@given(st.lists(st.none() | st.integers(0, 5), min_size=4, max_size=4))
def test_dates_rise_over_the_milestones_to_the_submission_and_the_review(days: list[int | None]):
    first, second, submit_by, review_by = (None if day is None else NOW + day * DAY for day in days)
    made = terms(
        milestones=milestones(200, 300, due=(first, second)), submit_by=submit_by, review_by=review_by
    )
    stated = [day for day in days if day is not None]
    if all(earlier <= later for earlier, later in pairwise(stated)):
        term_rules.require_sound(made)
        return
    with pytest.raises(TermsInvalid, match="must rise"):
        term_rules.require_sound(made)


@pytest.mark.parametrize("member", ["funded", "auto_approve"])
def test_money_that_moves_by_itself_needs_a_date_of_review(member: str):
    term_rules.require_sound(terms(**{member: True}, review_by=NOW + DAY))
    with pytest.raises(TermsInvalid, match=f"{member} needs review_by") as refused:
        term_rules.require_sound(terms(**{member: True}))
    assert refused.value.field == "review_by"


@pytest.mark.parametrize(
    ("changes", "pays"),
    [({}, False), ({"funded": True}, True), ({"auto_approve": True}, True)],
)
def test_a_funded_or_automatically_approved_proposal_commits_its_contractor(
    changes: dict[str, object], pays: bool
):
    assert term_rules.pays_without_approval(terms(**changes)) == pays


@pytest.mark.parametrize("member", ["provider_bond", "provider_jobs"])
@pytest.mark.parametrize(
    "changes", [{}, {"provider_did": None}, {**OPEN_AND_FUNDED, "provider_did": PROVIDER}]
)
def test_only_an_open_funded_proposal_states_a_requirement_for_its_provider(
    member: str, changes: dict[str, object]
):
    made = terms(**changes)
    assert term_rules.with_requirement(made) == made
    with pytest.raises(TermsInvalid, match=f"{member}_min is for funded proposals") as refused:
        term_rules.with_requirement(replace(made, **{member: 0}))
    assert refused.value.field == f"{member}_min"


@pytest.mark.parametrize(
    ("stated", "bond", "jobs"),
    [
        ({}, 5, None),
        ({"provider_bond": Minor(0)}, 0, None),
        ({"provider_bond": Minor(9)}, 9, None),
        ({"provider_jobs": 3}, None, 3),
        ({"provider_bond": Minor(9), "provider_jobs": 3}, 9, 3),
    ],
)
def test_an_open_funded_proposal_requires_what_it_states_and_else_a_bond_of_one_percent(
    stated: dict[str, object], bond: int | None, jobs: int | None
):
    made = term_rules.with_requirement(terms(**OPEN_AND_FUNDED, **stated))
    assert (made.provider_bond, made.provider_jobs) == (bond, jobs)


@given(AMOUNTS)
def test_a_default_bond_is_the_least_that_covers_one_percent(amount: int):
    bond = term_rules.default_bond(Minor(amount))
    assert (bond - 1) * 100 < amount <= bond * 100


@pytest.mark.parametrize(
    ("changes", "replaced"),
    [
        ({}, 0),
        ({"provider_bond": Minor(9)}, 0),
        ({"provider_jobs": 0, "provider_bond": Minor(9)}, 0),
        ({"provider_jobs": 1}, 5),
        ({"provider_jobs": 1, "provider_bond": Minor(9)}, 9),
        ({"provider_jobs": 1, "provider_bond": Minor(0)}, 0),
    ],
)
def test_a_record_replaces_the_bond_of_a_proposal_that_asks_for_jobs(
    changes: dict[str, object], replaced: int
):
    assert rules.replaced_bond(contract(**changes)) == replaced


def test_a_record_replaces_the_bonds_of_all_contracts_under_way():
    asked = contract(provider_jobs=3, provider_bond=Minor(9))
    under_way = [contract(provider_jobs=1), contract(provider_bond=Minor(100)), contract(provider_jobs=2)]
    assert rules.required_of(asked, under_way) == Required(Minor(9), 3, Minor(9 + 5 + 5))
    assert rules.required_of(contract(provider_bond=Minor(9)), under_way) == Required(Minor(9), None, ZERO)
    assert rules.required_of(contract(), under_way) is None


@pytest.mark.parametrize(
    ("first", "last", "refusal"),
    [
        (MOMENT, DAY, None),
        (timedelta(0), DAY, "in the future"),
        (-MOMENT, DAY, "in the future"),
        (MOMENT, term_rules.DATE_MAX_DAYS * DAY, None),
        (MOMENT, term_rules.DATE_MAX_DAYS * DAY + MOMENT, "days ahead"),
    ],
)
def test_dates_are_ahead_by_at_most_ten_years(first: timedelta, last: timedelta, refusal: str | None):
    made = terms(submit_by=NOW + first, review_by=NOW + last)
    if refusal is None:
        term_rules.require_ahead(made, NOW)
        return
    with pytest.raises(TermsInvalid, match=refusal):
        term_rules.require_ahead(made, NOW)


def test_a_proposal_ends_at_its_first_date_and_without_one_after_thirty_days():
    assert term_rules.expiry_of(terms(submit_by=NOW + 2 * DAY, review_by=NOW + 4 * DAY), NOW) == NOW + 2 * DAY
    assert term_rules.expiry_of(terms(), NOW) == NOW + 30 * DAY
    term_rules.require_ahead(terms(), NOW)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("provider", [None, PROVIDER])
@pytest.mark.parametrize("kind", ["service", rules.ATTESTATION])
def test_a_stranger_reads_attestations_and_open_proposals(status: Status, provider: str | None, kind: str):
    made = contract(status, provider_did=provider, contract_type=kind)
    rules.require_seen(made, CONTRACTOR)
    if kind == rules.ATTESTATION or (provider is None and status == Status.PROPOSED):
        rules.require_seen(made, STRANGER)
        return
    with pytest.raises(ContractUnknown):
        rules.require_seen(made, STRANGER)


def test_each_act_belongs_to_one_party_and_a_stranger_finds_no_contract():
    for require, party, other in (
        (rules.require_contractor, CONTRACTOR, PROVIDER),
        (rules.require_provider, PROVIDER, CONTRACTOR),
    ):
        require(contract(), party)
        with pytest.raises(WrongParty):
            require(contract(), other)
        with pytest.raises(ContractUnknown):
            require(contract(contract_type=rules.ATTESTATION), STRANGER)


@pytest.mark.parametrize(
    ("changes", "did", "refusal"),
    [
        ({}, PROVIDER, None),
        ({}, CONTRACTOR, WrongParty),
        ({}, STRANGER, ContractUnknown),
        ({"contract_type": rules.ATTESTATION}, STRANGER, ContractUnknown),
        ({"provider_did": None}, STRANGER, None),
        ({"provider_did": None}, CONTRACTOR, SelfContract),
        ({"status": Status.ACCEPTED}, PROVIDER, WrongState),
        ({"status": Status.CANCELLED, "provider_did": None}, STRANGER, ContractUnknown),
        ({"crossing": TRANSFER}, PROVIDER, PaymentUnderWay),
    ],
)
def test_the_named_provider_accepts_and_without_a_name_any_agent_but_the_contractor(
    changes: dict[str, object], did: str, refusal: type[Exception] | None
):
    if refusal is None:
        rules.require_acceptable(contract(**changes), did)
        return
    with pytest.raises(refusal):
        rules.require_acceptable(contract(**changes), did)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize(
    "allowed", [*((one,) for one in Status), (Status.ACCEPTED, Status.SUBMITTED)], ids="-".join
)
def test_an_act_needs_one_of_its_states_and_none_while_a_payment_crosses(
    status: Status, allowed: tuple[Status, ...]
):
    with pytest.raises(PaymentUnderWay) as under_way:
        rules.require_state(contract(status, crossing=TRANSFER), *allowed)
    assert under_way.value.context == {"payment_tx_id": str(TRANSFER)}
    if status in allowed:
        rules.require_state(contract(status), *allowed)
        return
    with pytest.raises(WrongState, match=f"is {status}; this needs {' or '.join(allowed)}") as refused:
        rules.require_state(contract(status), *allowed)
    assert refused.value.context == {"status": status}


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize(
    ("left", "is_due"), [(None, False), (MOMENT, False), (timedelta(0), True), (-MOMENT, True)]
)
def test_a_contract_is_due_from_its_deadline_on_and_open_ones_refuse_acts_then(
    status: Status, left: timedelta | None, is_due: bool
):
    made = contract(status, due_at=None if left is None else NOW + left)
    assert rules.is_due(made) == is_due
    if is_due and status in {Status.PROPOSED, Status.ACCEPTED, Status.SUBMITTED}:
        with pytest.raises(DeadlinePassed):
            rules.require_in_time(made)
    else:
        rules.require_in_time(made)


def with_states(*states: str) -> Contract:
    parts = zip(milestones(*[100] * len(states)), states, strict=True)
    return contract(Status.ACCEPTED, milestones=tuple(replace(one, state=state) for one, state in parts))


@pytest.mark.parametrize(
    ("states", "next_one", "expected"),
    [
        (("pending", "pending"), 0, "the next is 0"),
        (("approved", "pending"), 1, "the next is 1"),
        (("approved", "submitted", "pending"), 1, "the next is 1"),
        (("approved", "approved"), None, "it has none"),
        (("released",), None, "it has none"),
        ((), None, "it has none"),
    ],
)
def test_milestones_are_named_in_order(states: tuple[str, ...], next_one: int | None, expected: str):
    made = with_states(*states)
    for index in (None, *range(4)):
        if index in {None, next_one}:
            rules.require_next(made, index)
            continue
        with pytest.raises(MilestoneNotNext, match=f"Milestone {index} .* not due: {expected}"):
            rules.require_next(made, index)


@pytest.mark.parametrize("status", Status)
def test_the_whole_work_is_approved_when_completed_and_a_milestone_by_its_own_state(status: Status):
    made = replace(with_states("approved", "submitted", "released"), status=status)
    assert rules.is_approved(made, None) == (status == Status.COMPLETED)
    assert [rules.is_approved(made, index) for index in range(3)] == [True, False, False]


def test_a_part_that_is_to_be_paid_is_its_milestone_and_else_the_amount():
    assert [with_states(*states).part for states in ((), ("pending", "pending"))] == [AMOUNT, 100]
