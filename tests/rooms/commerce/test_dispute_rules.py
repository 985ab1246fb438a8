"""The rules of disputes (Specification 6, "Disputes of funded work"; 4, "Disputes")."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from msgspec.structs import replace

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.commerce.disputes import rules
from hansa.rooms.commerce.disputes.dispute import (
    AwardStatus,
    Complaint,
    Decision,
    DepositPolicy,
    Dispute,
    DisputeStatus,
    Funds,
    Outcome,
    Piece,
    Ruling,
    Subject,
)
from hansa.rooms.commerce.disputes.errors import (
    AwardDecided,
    DisputeUnknown,
    EvidenceClosed,
    NotAParty,
    NothingSubmitted,
    ReasonMissing,
    RulingDiffers,
    RulingInvalid,
    RulingTooLate,
    SecondAdministratorNeeded,
    SelfDispute,
    TooLate,
    WrongState,
)
from hansa_verify import Proposal

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)
PAYER, PAYEE, STRANGER = "did:hansa:payer", "did:hansa:payee", "did:hansa:stranger"
SLASH_MAX = Minor(1_000)
FOR_COMPLAINANT, FOR_DEFENDANT = Ruling.IN_FAVOR_OF_COMPLAINANT, Ruling.IN_FAVOR_OF_DEFENDANT


def dispute(status: DisputeStatus = DisputeStatus.VOTING, **changes: object) -> Dispute:
    """A dispute of a payer about 500 paid units, of which it claims all."""
    made = Dispute(
        id=1,
        complainant_did=PAYER,
        defendant_did=PAYEE,
        payment="tx:1",
        contract_id=None,
        token_id=None,
        tx_id=1,
        contract_status=None,
        payer_did=PAYER,
        subject_amount=Minor(500),
        paid_amount=Minor(500),
        held_amount=ZERO,
        fee_paid=ZERO,
        is_malpractice=False,
        reason_code="OTHER",
        description="Nothing was delivered.",
        claimed_amount=None,
        attestation_ids=(),
        filed_attestations=0,
        status=status,
        ruling=None,
        compensation_amount=ZERO,
        slash_requested=ZERO,
        slash_reduction=ZERO,
        slash_applied=ZERO,
        attested=None,
        note=None,
        ruled_by=None,
        opened_at=NOW - timedelta(days=1),
        evidence_until=NOW + timedelta(days=2),
        rule_by=NOW + timedelta(days=30),
        voting_at=None,
        closed_at=None,
        award_amount=ZERO,
        award_status=None,
        award_decided_by=None,
        award_decided_at=None,
        award_reason=None,
        blocked_amount=ZERO,
        deposit_amount=ZERO,
        deposit_hold_id=None,
        now=NOW,
    )
    return replace(made, **changes)


def complaint(by: str = PAYER, claimed: int | None = None) -> Complaint:
    against = PAYEE if by == PAYER else PAYER
    return Complaint(
        by, against, "OTHER", "Late.", claimed_amount=None if claimed is None else Minor(claimed)
    )


def subject(amount: int = 500, paid: int = 500, held: int = 0) -> Subject:
    return Subject("tx:1", PAYER, Minor(amount), ZERO, Funds(Minor(paid), Minor(held)))


def decision(
    ruling: Ruling = FOR_COMPLAINANT, compensation: int = 0, slash: int = 0, note: str | None = None
) -> Decision:
    return Decision(ruling, Minor(compensation), Minor(slash), note)


def test_an_agent_files_no_dispute_with_itself():
    rules.require_other(complaint())
    with pytest.raises(SelfDispute):
        rules.require_other(replace(complaint(), defendant_did=PAYER))


def test_both_must_be_parties_to_the_payment():
    rules.require_parties(complaint(), (PAYER, PAYEE))
    with pytest.raises(NotAParty):
        rules.require_parties(replace(complaint(), defendant_did=STRANGER), (PAYER, PAYEE))


def test_a_provider_files_only_after_a_submission():
    rules.require_submitted(is_stated=True)
    with pytest.raises(NothingSubmitted):
        rules.require_submitted(is_stated=False)


def test_a_dispute_is_filed_before_the_end_of_its_window():
    rules.require_recent(NOW + MOMENT, NOW)
    with pytest.raises(TooLate):
        rules.require_recent(NOW, NOW)


def test_a_stranger_finds_no_dispute():
    for party in (PAYER, PAYEE):
        rules.require_seen(dispute(), party)
    with pytest.raises(DisputeUnknown):
        rules.require_seen(dispute(), STRANGER)


@pytest.mark.parametrize("status", DisputeStatus)
def test_an_act_needs_its_state(status: DisputeStatus):
    for required in DisputeStatus:
        if required == status:
            rules.require_state(dispute(status), required)
            continue
        with pytest.raises(WrongState, match=f"is {status}; this needs {required}"):
            rules.require_state(dispute(status), required)


@pytest.mark.parametrize(
    ("status", "left", "is_open"),
    [
        (DisputeStatus.OPEN, MOMENT, True),
        (DisputeStatus.OPEN, timedelta(0), False),
        (DisputeStatus.VOTING, MOMENT, False),
        (DisputeStatus.CLOSED, MOMENT, False),
    ],
)
def test_evidence_is_added_while_open_only(status: DisputeStatus, left: timedelta, is_open: bool):
    made = dispute(status, evidence_until=NOW + left)
    if is_open:
        rules.require_evidence_open(made)
        return
    with pytest.raises(EvidenceClosed):
        rules.require_evidence_open(made)


@pytest.mark.parametrize("left", [timedelta(days=1), timedelta(0), timedelta(days=-1)])
def test_voting_is_open_since_an_administrator_opened_it_or_the_time_for_evidence_ended(left: timedelta):
    after = rules.voting(dispute(DisputeStatus.OPEN, evidence_until=NOW + left))
    assert (after.status, after.voting_at) == (DisputeStatus.VOTING, NOW + min(left, timedelta(0)))


def test_a_ruling_comes_before_its_time_ends():
    rules.require_in_time(dispute(rule_by=NOW + MOMENT))
    with pytest.raises(RulingTooLate):
        rules.require_in_time(dispute(rule_by=NOW))


def test_a_dispute_without_a_ruling_in_time_is_dismissed():
    after = rules.unruled(dispute())
    assert (after.status, after.ruling, after.closed_at) == (DisputeStatus.CLOSED, Ruling.DISMISSED, NOW)


@pytest.mark.parametrize(
    ("agreed", "claimed", "bound"),
    [(500, None, 500), (500, 499, 499), (500, 500, 500), (500, 501, 500), (None, 100, None)],
)
def test_the_bound_is_the_least_of_the_claim_and_the_agreed_amount(
    agreed: int | None, claimed: int | None, bound: int | None
):
    assert rules.bound_of(dispute(subject_amount=agreed, claimed_amount=claimed)) == bound
    assert rules.disputed_amount(complaint(claimed=claimed), subject(agreed) if agreed else None) == (
        bound or 0
    )


@pytest.mark.parametrize(("disputed", "blocked"), [(99, 0), (100, 100), (101, 101)])
def test_an_open_dispute_keeps_its_amount_of_a_bond_and_nothing_below_the_minimum(
    disputed: int, blocked: int
):
    assert rules.blocked_amount(Minor(disputed), Minor(100)) == blocked


@pytest.mark.parametrize(
    ("paid", "held", "given", "left"),
    [
        (500, 0, 0, 500),
        (600, 0, 0, 500),
        (499, 0, 0, 499),
        (0, 500, 0, 500),
        (200, 299, 0, 499),
        (500, 0, 499, 1),
        (500, 0, 500, 0),
        (500, 0, 501, 0),
    ],
)
def test_a_compensation_is_at_most_the_bound_and_the_funds_less_what_is_given(
    paid: int, held: int, given: int, left: int
):
    funds = Funds(Minor(paid), Minor(held))
    assert rules.compensation_left(dispute(), funds, Minor(given)) == left


def test_without_a_subject_there_is_no_compensation():
    assert rules.compensation_left(dispute(subject_amount=None), Funds(Minor(500), ZERO), ZERO) == 0


@pytest.mark.parametrize(
    ("subject_amount", "compensation", "slash", "member"),
    [
        (500, 300, 500, None),
        (500, 301, 0, "compensation_amount"),
        (500, 0, 501, "slash_amount"),
        (None, 300, SLASH_MAX, None),
        (None, 0, SLASH_MAX + 1, "slash_amount"),
    ],
)
def test_a_slash_is_within_the_bound_and_without_a_subject_within_the_setting(
    subject_amount: int | None, compensation: int, slash: int, member: str | None
):
    ruled = decision(compensation=compensation, slash=slash)
    made = dispute(subject_amount=subject_amount)
    if member is None:
        rules.require_bounds(made, ruled, Minor(300), SLASH_MAX)
        return
    with pytest.raises(RulingInvalid) as refused:
        rules.require_bounds(made, ruled, Minor(300), SLASH_MAX)
    assert refused.value.field == member


@pytest.mark.parametrize("ruling", [FOR_DEFENDANT, Ruling.DISMISSED])
def test_only_a_ruling_for_the_complainant_compensates_or_slashes(ruling: Ruling):
    rules.require_bounds(dispute(), decision(ruling), Minor(300), SLASH_MAX)
    for amounts in ({"compensation": 1}, {"slash": 1}):
        with pytest.raises(RulingInvalid):
            rules.require_bounds(dispute(), decision(ruling, **amounts), Minor(300), SLASH_MAX)


@pytest.mark.parametrize(
    ("by", "claimed", "paid", "deposit"),
    [
        (PAYER, None, 500, 25),
        (PAYER, 219, 500, 10),
        (PAYER, 220, 500, 11),
        (PAYER, 100, 500, 10),
        (PAYEE, None, 1, 25),
        (PAYEE, None, 0, 0),
        (PAYER, None, 0, 25),
    ],
)
def test_the_deposit_is_a_share_of_the_disputed_amount_and_at_least_the_minimum(
    by: str, claimed: int | None, paid: int, deposit: int
):
    policy = DepositPolicy(Decimal(5), Minor(10))
    assert rules.deposit_due(complaint(by, claimed), subject(paid=paid), policy) == deposit


def test_a_dispute_without_a_subject_needs_no_deposit():
    assert rules.deposit_due(complaint(), None, DepositPolicy(Decimal(5), Minor(10))) == 0


def test_a_ruling_that_differs_from_the_facts_states_its_reason():
    for proposed in (None, FOR_COMPLAINANT):
        rules.require_reason(decision(), Proposal(proposed, "rule", "why"))
    rules.require_reason(decision(note="A reason."), Proposal(FOR_DEFENDANT, "rule", "why"))
    with pytest.raises(ReasonMissing):
        rules.require_reason(decision(), Proposal(FOR_DEFENDANT, "rule", "why"))


def test_a_ruling_given_twice_is_done_once_and_another_one_is_refused():
    given = decision(compensation=100, slash=50, note="Late.")
    closed = rules.decided(dispute(), given, Outcome(Minor(30), Minor(70)), ZERO, 4)
    rules.require_same(closed, given)
    for change in (
        {"compensation": Minor(101)},
        {"slash": Minor(51)},
        {"note": None},
        {"ruling": FOR_DEFENDANT},
    ):
        with pytest.raises(RulingDiffers):
            rules.require_same(closed, replace(given, **change))
    rules.require_same(rules.unruled(dispute()), decision(Ruling.DISMISSED))


@pytest.mark.parametrize(("awarded", "status"), [(0, None), (1, AwardStatus.PENDING)])
def test_the_part_of_a_compensation_that_no_slash_covers_is_a_pending_award(
    awarded: int, status: AwardStatus | None
):
    after = rules.decided(dispute(), decision(), Outcome(ZERO, Minor(awarded)), ZERO, 4)
    assert (after.status, after.award_amount, after.award_status) == (DisputeStatus.CLOSED, awarded, status)
    if status:
        rules.require_award_pending(after)
        return
    with pytest.raises(AwardDecided):
        rules.require_award_pending(after)


def test_a_second_administrator_decides_an_award():
    rules.require_second(dispute(ruled_by=4), 5)
    with pytest.raises(SecondAdministratorNeeded):
        rules.require_second(dispute(ruled_by=4), 4)


def test_a_party_gives_pieces_of_evidence_up_to_the_limits_of_number_and_bytes():
    piece = Piece("0" * 64)
    assert rules.has_room_for([piece] * (rules.EVIDENCE_MAX - 1), piece)
    assert not rules.has_room_for([piece] * rules.EVIDENCE_MAX, piece)
    frame_bytes = len('[null, ""]')
    largest = Piece("0" * 64, note="x" * (rules.EVIDENCE_MAX_BYTES - frame_bytes))
    assert rules.has_room_for([], largest)
    assert not rules.has_room_for([], replace(largest, note=f"{largest.note}x"))


def test_each_ruling_about_a_payment_makes_it_a_new_subject():
    assert rules.names_so_far("tx:1") == ["tx:1"]
    assert rules.names_so_far("tx:1:2") == ["tx:1", "tx:1:1", "tx:1:2"]
    assert rules.names_so_far("contract:9:1", "tx:1") == ["tx:1", "tx:1:1"]
