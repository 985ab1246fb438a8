"""Rules of contracts and of their moves, without I/O.

- PROPOSED -> ACCEPTED -> SUBMITTED -> COMPLETED. SUBMITTED returns to ACCEPTED when changes are requested, and when a
  milestone that is not the last one is approved. ACCEPTED and SUBMITTED may fail, PROPOSED is cancelled or expires.
- One deadline applies at a time: the proposal's end, the date of the work, the date of the review, the release of the
  hold after a failure. `due_at` is null where none applies, and while deadlines are stopped.
- A date that had passed when the work's turn came does not count: the next date after it does.
- While a payment crosses to another registry the contract stays SUBMITTED, and no act and no deadline moves it.
- A dispute makes ACCEPTED, SUBMITTED, FAILED or COMPLETED DISPUTED. Dismissed, the contract returns to where it was; a
  ruling for one of the parties closes it.
- Deadlines are stopped for a set of reasons; when the last reason ends, every date moves by the time that was stopped.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.commerce.requirement import Required

from .contract import OPEN, Contract, Ending, Milestone, Payment, Status
from .errors import (
    ContractUnknown,
    DeadlinePassed,
    MilestoneNotNext,
    PaymentUnderWay,
    SelfContract,
    TooManySubmissions,
    WrongParty,
    WrongState,
)
from .term_rules import default_bond

MILESTONES_MAX = 50
OPEN_PROPOSALS_MAX = 100
SUBMISSIONS_MAX = 100
OPEN_ACCEPTED_MAX = 20
"""Open, funded proposals that one provider has accepted and that are under way."""
ATTESTATION = "attestation"
"""The type of contracts that everyone may read."""


def required_of(contract: Contract, under_way: Sequence[Contract]) -> Required | None:
    """The requirement of an open, funded proposal for a provider that has accepted others; None of another proposal."""
    if contract.required is None or not contract.provider_jobs:
        return contract.required
    replaced = sum(replaced_bond(one) for one in (contract, *under_way))
    return replace(contract.required, replaced=Minor(replaced))


def replaced_bond(contract: Contract) -> Minor:
    """The bond that a record replaces, where the proposal asks for verified jobs."""
    if not contract.provider_jobs:
        return ZERO
    return default_bond(contract.amount) if contract.provider_bond is None else contract.provider_bond


def is_budgeted(contract: Contract, *, is_governed: bool, grant_id: UUID | None) -> bool:
    """Return whether an approval is counted against a budget: what the proposal bound was counted then, by the same grant."""
    if grant_id is not None and contract.grant_id != grant_id:
        return True
    return is_governed and not is_bound(contract)


def is_bound(contract: Contract) -> bool:
    """Return whether the proposal committed the contractor to pay, so that its spend policy counted the payment then."""
    return contract.funded or contract.auto_approve


def require_seen(contract: Contract, did: str) -> None:
    """Raises: ContractUnknown, where the agent may not read the contract."""
    is_public = contract.contract_type == ATTESTATION
    is_offered = contract.provider_did is None and contract.status == Status.PROPOSED
    if did not in contract.parties and not is_public and not is_offered:
        raise ContractUnknown


def require_contractor(contract: Contract, did: str) -> None:
    """Raises: ContractUnknown for an agent that is no party, WrongParty for the provider."""
    if did not in contract.parties:
        raise ContractUnknown
    if did != contract.contractor_did:
        raise WrongParty


def require_provider(contract: Contract, did: str) -> None:
    """Raises: ContractUnknown for an agent that is no party, WrongParty for the contractor."""
    if did not in contract.parties:
        raise ContractUnknown
    if did != contract.provider_did:
        raise WrongParty


def require_acceptable(contract: Contract, did: str) -> None:
    """The agent may be the provider of the proposal. Raises: ContractUnknown, WrongParty, SelfContract, WrongState."""
    require_seen(contract, did)
    if contract.provider_did is None and did == contract.contractor_did:
        raise SelfContract("An agent cannot accept its own proposal.")
    if contract.provider_did is not None:
        require_provider(contract, did)
    require_state(contract, Status.PROPOSED)


def require_state(contract: Contract, *allowed: Status) -> None:
    """Raises: PaymentUnderWay, WrongState."""
    if contract.crossing is not None:
        raise PaymentUnderWay(context={"payment_tx_id": str(contract.crossing)})
    if contract.status not in allowed:
        expected = " or ".join(allowed)
        raise WrongState(
            f"The contract is {contract.status}; this needs {expected}.", context={"status": contract.status}
        )


def require_in_time(contract: Contract) -> None:
    """Raises: DeadlinePassed."""
    if contract.status in OPEN and is_due(contract):
        raise DeadlinePassed


def require_next(contract: Contract, index: int | None) -> None:
    """The milestone that is named is the one whose turn it is. Raises: MilestoneNotNext."""
    if index is None:
        return
    current = contract.current.index if contract.current else None
    if index != current:
        expected = "it has none" if current is None else f"the next is {current}"
        raise MilestoneNotNext(f"Milestone {index} of this contract is not due: {expected}.")


def is_approved(contract: Contract, milestone: int | None) -> bool:
    """Return whether this milestone, or without one the whole work, is approved and paid."""
    if milestone is None:
        return contract.status == Status.COMPLETED
    return contract.milestones[milestone].state == "approved"


def is_due(contract: Contract) -> bool:
    """Return whether the deadline that applies has passed."""
    return contract.due_at is not None and contract.due_at <= contract.now


def accepted(contract: Contract, provider_did: str) -> Contract:
    """The provider has accepted."""
    return _timed(
        replace(
            contract,
            status=Status.ACCEPTED,
            provider_did=provider_did,
            accepted_at=contract.now,
            turn_at=contract.now,
        )
    )


def submitted(contract: Contract) -> Contract:
    """The work, or the next milestone, is submitted. Raises: TooManySubmissions."""
    if contract.submissions >= SUBMISSIONS_MAX:
        raise TooManySubmissions
    return _timed(
        replace(
            contract,
            status=Status.SUBMITTED,
            submitted_at=contract.now,
            submissions=contract.submissions + 1,
            milestones=_with_current(contract, state="submitted", submitted_at=contract.now),
        )
    )


def returned(contract: Contract) -> Contract:
    """Changes are requested."""
    milestones = _with_current(contract, state="pending")
    return _timed(replace(contract, status=Status.ACCEPTED, turn_at=contract.now, milestones=milestones))


def approved(contract: Contract, payment: Payment) -> Contract:
    """The submitted part is approved and paid."""
    after = replace(
        contract,
        amount_paid=Minor(contract.amount_paid + payment.amount),
        fee_paid=Minor(contract.fee_paid + payment.fee),
        payment_tx_id=payment.tx_id,
        payment_transfer=payment.transfer_id,
        crossing=None,
        milestones=_with_current(
            contract,
            state="approved",
            payment_tx_id=payment.tx_id,
            payment_transfer=payment.transfer_id,
        ),
    )
    if not contract.is_last_part:
        return _timed(replace(after, status=Status.ACCEPTED, turn_at=contract.now))
    return _timed(
        replace(
            after,
            status=Status.COMPLETED,
            ended_because=Ending.APPROVED,
            completed_at=contract.now,
            ended_at=contract.now,
            # The end of a suspension is not followed here any more, and the time for a dispute runs from now on.
            stops=(),
            stopped_at=None,
        )
    )


def paying(contract: Contract, transfer_id: UUID) -> Contract:
    """The submitted part is being paid by a transfer to another registry; nothing else is done before it is decided."""
    return replace(contract, crossing=transfer_id)


def unpaid(contract: Contract) -> Contract:
    """The transfer was aborted: the submitted part waits for its review as before."""
    return replace(contract, crossing=None)


def failed(contract: Contract, because: Ending, dispute_window: timedelta) -> Contract:
    """Fail the contract: the units of its hold are free at once, or after the time for a dispute."""
    keeps_hold = contract.hold_id is not None and contract.is_in_review
    release_at = contract.now + dispute_window if keeps_hold else None
    return _timed(
        replace(
            contract,
            status=Status.FAILED,
            ended_because=because,
            ended_at=contract.now,
            hold_release_at=release_at,
            milestones=contract.milestones if keeps_hold else _released(contract),
        )
    )


def withdrawn(contract: Contract, status: Status, because: Ending) -> Contract:
    """A proposal ends without an agreement."""
    milestones = _released(contract)
    return _timed(
        replace(contract, status=status, ended_because=because, ended_at=contract.now, milestones=milestones)
    )


def hold_freed(contract: Contract) -> Contract:
    """The time for a dispute has passed, and the payer has its units back."""
    return _timed(replace(contract, hold_release_at=None, milestones=_released(contract)))


def stopped(contract: Contract, reason: str, since: datetime) -> Contract:
    """Deadlines do not run for one more reason."""
    if reason in contract.stops:
        return contract
    stopped_at = min(since, contract.stopped_at) if contract.stopped_at else since
    return _timed(replace(contract, stops=(*contract.stops, reason), stopped_at=stopped_at))


def resumed(contract: Contract, reason: str, at: datetime) -> Contract:
    """One reason has ended; without another, deadlines run on with the time that remained."""
    if reason not in contract.stops:
        return contract
    stops = tuple(one for one in contract.stops if one != reason)
    if stops or contract.stopped_at is None:
        return replace(contract, stops=stops)
    shift = max(at - contract.stopped_at, timedelta())
    return _timed(_moved(replace(contract, stops=(), stopped_at=None), shift))


def disputed(contract: Contract, dispute_id: int) -> Contract:
    """A dispute was filed: no deadline runs until it is decided."""
    still = stopped(contract, reason_of_dispute(dispute_id), contract.now)
    return replace(still, status=Status.DISPUTED, dispute_id=dispute_id)


def restored(contract: Contract, status: Status) -> Contract:
    """The dispute was dismissed: the contract is where it was, and its deadlines run on with the time that remained."""
    assert contract.dispute_id is not None
    return resumed(replace(contract, status=status), reason_of_dispute(contract.dispute_id), contract.now)


def closed(contract: Contract, payment: Payment | None) -> Contract:
    """Close the contract by a ruling. The provider got the unpaid part, where the ruling gave it to the provider."""
    after = replace(
        contract,
        status=Status.CLOSED,
        ended_because=Ending.RULING,
        ended_at=contract.now,
        hold_release_at=None,
        stops=(),
        stopped_at=None,
    )
    if payment is None:
        return _timed(replace(after, milestones=_released(contract)))
    milestones = tuple(
        one if one.state == "approved" else replace(one, state="approved", payment_tx_id=payment.tx_id)
        for one in contract.milestones
    )
    return _timed(
        replace(
            after,
            amount_paid=Minor(contract.amount_paid + payment.amount),
            fee_paid=Minor(contract.fee_paid + payment.fee),
            payment_tx_id=payment.tx_id,
            milestones=milestones,
        )
    )


def reason_of_dispute(dispute_id: int) -> str:
    """For which reason a dispute stops deadlines and freezes the hold."""
    return f"dispute {dispute_id}"


def _moved(contract: Contract, shift: timedelta) -> Contract:
    dates: Mapping[str, datetime] = {
        name: date + shift
        for name in ("submit_by", "review_by", "expires_at", "turn_at", "hold_release_at")
        if (date := getattr(contract, name)) is not None
    }
    milestones = tuple(replace(one, due=one.due + shift) if one.due else one for one in contract.milestones)
    return replace(contract, milestones=milestones, **dates)


def _timed(contract: Contract) -> Contract:
    """The contract with the deadline that applies to it."""
    due_at = None if contract.stops else _deadline(contract)
    return contract if due_at == contract.due_at else replace(contract, due_at=due_at)


def _deadline(contract: Contract) -> datetime | None:
    match contract.status:
        case Status.PROPOSED:
            return contract.expires_at
        case Status.ACCEPTED:
            return _work_due(contract)
        case Status.SUBMITTED:
            return contract.review_by
        case Status.FAILED:
            return contract.hold_release_at
        case _:
            return None


def _work_due(contract: Contract) -> datetime | None:
    """The first date that had not passed when the work's turn came; without one, the date of the review."""
    assert contract.turn_at is not None
    index = contract.current.index if contract.current else 0
    dates = [milestone.due for milestone in contract.milestones[index:]]
    for date in (*dates, contract.submit_by, contract.review_by):
        if date is not None and date > contract.turn_at:
            return date
    return contract.review_by


def _with_current(contract: Contract, **changes: Any) -> tuple[Milestone, ...]:
    return tuple(replace(one, **changes) if one is contract.current else one for one in contract.milestones)


def _released(contract: Contract) -> tuple[Milestone, ...]:
    return tuple(
        one if one.state == "approved" else replace(one, state="released") for one in contract.milestones
    )
