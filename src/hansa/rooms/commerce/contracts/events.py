"""The events of a contract's moves."""

from uuid import UUID

from hansa.foundation.events import (
    ContractAccepted,
    ContractCancelled,
    ContractChangesRequested,
    ContractCompleted,
    ContractExpired,
    ContractFailed,
    ContractMilestoneApproved,
    ContractOverpaid,
    ContractProposed,
    ContractSubmitted,
    Event,
)
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import transfers

from .contract import Contract, Payment, Status


def proposed(contract: Contract) -> Event:
    """The proposal is made."""
    return ContractProposed(
        contract_id=contract.id,
        contractor_did=contract.contractor_did,
        provider_did=contract.provider_did,
        contract_type=contract.contract_type,
        amount=format_amount(contract.amount),
        currency=contract.currency,
        funded=contract.funded,
    )


def accepted(contract: Contract) -> Event:
    """The provider accepted."""
    return ContractAccepted(
        contract.id, contract.contractor_did, contract.provider_did, hold_id=contract.hold_id
    )


def submitted(contract: Contract, milestone: int | None) -> Event:
    """Work was submitted."""
    return ContractSubmitted(contract.id, contract.contractor_did, contract.provider_did, milestone=milestone)


def changes_requested(contract: Contract, milestone: int | None) -> Event:
    """Work was returned."""
    return ContractChangesRequested(
        contract.id, contract.contractor_did, contract.provider_did, milestone=milestone
    )


def milestone_approved(contract: Contract, milestone: int, payment: Payment) -> Event:
    """A milestone that is not the last one was paid."""
    return ContractMilestoneApproved(
        contract.id,
        contract.contractor_did,
        contract.provider_did,
        milestone=milestone,
        amount=format_amount(payment.amount),
        fee=format_amount(payment.fee),
        currency=contract.currency,
        tx_id=payment.tx_id,
        transfer_id=_transfer(payment.transfer_id),
    )


def overpaid(
    contract: Contract, milestone: int | None, amount: Minor, decision: transfers.CrossingDecision
) -> Event:
    """Event of a transfer that paid units that the contract does not owe."""
    assert decision.tx_id is not None
    return ContractOverpaid(
        contract.id,
        contract.contractor_did,
        contract.provider_did,
        milestone=milestone,
        amount=format_amount(amount),
        currency=contract.currency,
        tx_id=decision.tx_id,
        transfer_id=str(decision.transfer_id),
    )


def completed(contract: Contract, *, counts: bool) -> Event:
    """All of it is paid."""
    assert contract.payment_tx_id is not None
    return ContractCompleted(
        contract.id,
        contract.contractor_did,
        contract.provider_did,
        amount=format_amount(contract.amount_paid),
        fee=format_amount(contract.fee_paid),
        currency=contract.currency,
        tx_id=contract.payment_tx_id,
        counts=counts,
        transfer_id=_transfer(contract.payment_transfer),
    )


def ended(contract: Contract) -> Event:
    """It ended without completion."""
    assert contract.ended_because is not None
    parties = (contract.id, contract.contractor_did, contract.provider_did)
    if contract.status == Status.FAILED:
        release_at = contract.hold_release_at
        return ContractFailed(
            *parties,
            ended_because=contract.ended_because,
            hold_release_at=release_at.isoformat() if release_at else None,
        )
    kind = ContractCancelled if contract.status == Status.CANCELLED else ContractExpired
    return kind(*parties, ended_because=contract.ended_because)


def _transfer(transfer_id: UUID | None) -> str | None:
    return None if transfer_id is None else str(transfer_id)
