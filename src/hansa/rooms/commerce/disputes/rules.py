"""How a dispute moves, without I/O.

- OPEN -> VOTING -> CLOSED. Voting opens when an administrator opens it, or when the time for evidence ends.
- A dispute about a payment is bound by the least of the claim and the amount that the parties agreed. A slash stays within
  that bound. A compensation stays also within the units that were paid or are held for the payment, less those that the hold
  and earlier rulings about the payment give.
- A dispute without a subject gives no compensation, and a slash of at most DISPUTE_SLASH_MAX.
- The part of a compensation that the slash does not cover is an award: a second administrator decides it.
- The payer of a dispute makes a deposit, which returns unless the dispute is dismissed. An open dispute blocks at most its
  own amount of a bond, and nothing below a minimum.
- No ruling in time: it is dismissed.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms.commerce.contracts.contract import Contract, Status
from hansa.rooms.commerce.contracts.rules import require_state as require_contract_state
from hansa_verify import Proposal

from .dispute import (
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
from .errors import (
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

OPEN_DISPUTES_MAX = 100
EVIDENCE_MAX = 100
EVIDENCE_MAX_BYTES = 120_000
"""Of one party, with what it filed: the facts of a dispute fit into a message to another registry."""
ATTESTATIONS_MAX = 20

_DISPUTABLE = (
    Status.ACCEPTED,
    Status.SUBMITTED,
    Status.FAILED,
    Status.COMPLETED,
)

_ENDED = frozenset({Status.FAILED, Status.COMPLETED, Status.CLOSED})


def require_other(complaint: Complaint) -> None:
    """Raises: SelfDispute."""
    if complaint.complainant_did == complaint.defendant_did:
        raise SelfDispute


def require_parties(complaint: Complaint, parties: tuple[str, ...]) -> None:
    """The defendant is the other party; the complainant was found to be one. Raises: NotAParty."""
    if complaint.defendant_did not in parties:
        raise NotAParty


def require_submitted(*, is_stated: bool) -> None:
    """The provider has submitted work with its digest. Raises: NothingSubmitted."""
    if not is_stated:
        raise NothingSubmitted


def require_disputable(contract: Contract, window: timedelta, overpaid_at: datetime | None) -> None:
    """`overpaid_at`: when it came to light that more was paid than is owed, which may be long after the end.

    A contract that a ruling closed is disputed only about a payment that came to light after the ruling.

    Raises: WrongState, TooLate.
    """
    if not _is_paid_after_its_ruling(contract, overpaid_at):
        require_contract_state(contract, *_DISPUTABLE)
    if contract.status in _ENDED:
        assert contract.ended_at is not None
        # A suspension stops the time for a dispute like every other date of the contract.
        until = contract.hold_release_at or max(contract.ended_at, overpaid_at or contract.ended_at) + window
        require_recent(until, contract.stopped_at or contract.now)


def _is_paid_after_its_ruling(contract: Contract, overpaid_at: datetime | None) -> bool:
    is_closed, ended_at = contract.status == Status.CLOSED, contract.ended_at
    return is_closed and ended_at is not None and overpaid_at is not None and overpaid_at > ended_at


def require_recent(until: datetime, now: datetime) -> None:
    """Raises: TooLate."""
    if now >= until:
        raise TooLate


def subject_of(contract: Contract, funds: Funds, rulings: int) -> Subject:
    """A contract as the subject of a dispute, which `rulings` have closed before: after each it is a subject of its own."""
    return Subject(
        _names(f"contract:{contract.id}", rulings)[-1],
        contract.contractor_did,
        contract.amount,
        contract.fee_paid,
        funds,
        contract,
    )


def names_so_far(payment: str, name: str | None = None) -> list[str]:
    """The names under which a payment was the subject of disputes, up to this one; made of another name where one is given."""
    kind, number, *rulings = payment.split(":")
    return _names(name or f"{kind}:{number}", int(rulings[0]) if rulings else 0)


def _names(name: str, rulings: int) -> list[str]:
    return [name, *(f"{name}:{count}" for count in range(1, rulings + 1))]


def require_seen(dispute: Dispute, did: str) -> None:
    """Raises: DisputeUnknown for an agent that is no party."""
    if did not in dispute.parties:
        raise DisputeUnknown


def require_state(dispute: Dispute, required: DisputeStatus) -> None:
    """Raises: WrongState."""
    if dispute.status != required:
        raise WrongState(
            f"The dispute is {dispute.status}; this needs {required}.", context={"status": dispute.status}
        )


def require_evidence_open(dispute: Dispute) -> None:
    """Raises: EvidenceClosed."""
    if dispute.status != DisputeStatus.OPEN or is_due(dispute):
        raise EvidenceClosed


def is_due(dispute: Dispute) -> bool:
    """Return whether the time that applies has passed."""
    return dispute.due_at is not None and dispute.due_at <= dispute.now


def voting(dispute: Dispute) -> Dispute:
    """Voting is open, since the end of the time for evidence where that has passed."""
    return replace(dispute, status=DisputeStatus.VOTING, voting_at=min(dispute.now, dispute.evidence_until))


def require_same(dispute: Dispute, decision: Decision) -> None:
    """A closed dispute was decided so. Raises: RulingDiffers."""
    decided = Decision(
        dispute.ruling or Ruling.DISMISSED, dispute.compensation_amount, dispute.slash_requested, dispute.note
    )
    if decided != decision:
        raise RulingDiffers


def require_in_time(dispute: Dispute) -> None:
    """Raises: RulingTooLate."""
    if is_due(dispute):
        raise RulingTooLate


def has_room_for(given: Sequence[Piece], piece: Piece) -> bool:
    """Return whether a party that gave these pieces of evidence may add another one."""
    size = sum(len(json.dumps([one.uri, one.note], ensure_ascii=False).encode()) for one in [*given, piece])
    return len(given) < EVIDENCE_MAX and size <= EVIDENCE_MAX_BYTES


def bound_of(dispute: Dispute) -> Minor | None:
    """The least of the claim and the amount that the parties agreed; None without a subject."""
    if dispute.subject_amount is None:
        return None
    return min(dispute.subject_amount, dispute.claimed_amount or dispute.subject_amount)


def disputed_amount(complaint: Complaint, subject: Subject | None) -> Minor:
    """The least of the claim and the amount that the parties agreed; zero without a subject."""
    if subject is None:
        return ZERO
    return min(subject.amount, complaint.claimed_amount or subject.amount)


def blocked_amount(disputed: Minor, minimum: Minor) -> Minor:
    """Units of a bond that an open dispute keeps; one below the minimum blocks nothing."""
    return disputed if disputed >= minimum else ZERO


def deposit_due(complaint: Complaint, subject: Subject | None, policy: DepositPolicy) -> Minor:
    """Deposit of a complainant.

    None without a payment, which blocks nothing, and of a payee that was paid nothing: it may own nothing else.
    """
    if subject is None or (complaint.complainant_did != subject.payer_did and not subject.funds.paid):
        return ZERO
    share = int(disputed_amount(complaint, subject) * policy.percent / 100)
    return Minor(max(share, policy.minimum))


def compensation_left(dispute: Dispute, funds: Funds, given: Minor) -> Minor:
    """Return the most that a ruling compensates; `given` is the sum that the hold and earlier rulings about the payment give."""
    bound = bound_of(dispute)
    return ZERO if bound is None else Minor(max(min(bound, funds.paid + funds.held) - given, 0))


def require_reason(decision: Decision, proposed: Proposal) -> None:
    """Require a reason of a ruling that differs from the proposal of the facts. Raises: ReasonMissing."""
    if proposed.ruling not in (None, decision.ruling) and decision.note is None:
        raise ReasonMissing(context={"proposed": proposed.ruling, "why": proposed.why})


def require_bounds(dispute: Dispute, decision: Decision, left: Minor, slash_max: Minor) -> None:
    """`left` is the most that the ruling compensates. Raises: RulingInvalid."""
    if decision.ruling != Ruling.IN_FAVOR_OF_COMPLAINANT:
        if decision.compensation or decision.slash:
            raise RulingInvalid("Only a ruling in favour of the complainant compensates or slashes.")
        return
    bound = bound_of(dispute)
    _require_at_most("compensation_amount", decision.compensation, left)
    _require_at_most("slash_amount", decision.slash, slash_max if bound is None else bound)


def decided(
    dispute: Dispute, decision: Decision, outcome: Outcome, fee_paid: Minor, ruled_by: int
) -> Dispute:
    """An administrator has ruled."""
    return replace(
        dispute,
        status=DisputeStatus.CLOSED,
        ruling=decision.ruling,
        compensation_amount=decision.compensation,
        slash_requested=decision.slash,
        slash_applied=outcome.slashed,
        award_amount=outcome.awarded,
        award_status=AwardStatus.PENDING if outcome.awarded else None,
        fee_paid=fee_paid,
        note=decision.note,
        ruled_by=ruled_by,
        closed_at=dispute.now,
    )


def require_award_pending(dispute: Dispute) -> None:
    """Raises: AwardDecided."""
    if dispute.award_status is not AwardStatus.PENDING:
        raise AwardDecided(context={"award_status": dispute.award_status})


def require_second(dispute: Dispute, administrator_id: int) -> None:
    """Raises: SecondAdministratorNeeded, for the administrator who ruled."""
    if dispute.ruled_by == administrator_id:
        raise SecondAdministratorNeeded


def unruled(dispute: Dispute) -> Dispute:
    """There was no ruling in time."""
    return replace(dispute, status=DisputeStatus.CLOSED, ruling=Ruling.DISMISSED, closed_at=dispute.now)


def _require_at_most(member: str, amount: Minor, most: Minor) -> None:
    if amount > most:
        raise RulingInvalid(
            f"{member} is at most {format_amount(most)} in this dispute.",
            field=member,
            context={"maximum": format_amount(most)},
        )
