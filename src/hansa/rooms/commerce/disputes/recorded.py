"""The events of disputes."""

from hansa.foundation.events import (
    DisputeCompensationMinted,
    DisputeEvidenceAdded,
    DisputeFiled,
    DisputeRuled,
    DisputeSlash,
    DisputeVotingOpened,
    Event,
)
from hansa.foundation.values.money import ZERO, format_amount
from hansa.rooms import ledger
from hansa.rooms.commerce.slash_bond import BondSlashed

from .dispute import Dispute


def filed(dispute: Dispute, currency: str) -> Event:
    """A complaint was filed."""
    return DisputeFiled(
        dispute.id,
        *dispute.parties,
        reason_code=dispute.reason_code,
        contract_id=dispute.contract_id,
        token_id=None if dispute.token_id is None else str(dispute.token_id),
        transaction_id=None if dispute.tx_id is None else f"tx-{dispute.tx_id}",
        claimed_amount=None if dispute.claimed_amount is None else format_amount(dispute.claimed_amount),
        currency=currency,
    )


def evidence_added(dispute: Dispute, by: str) -> Event:
    """A party added evidence."""
    return DisputeEvidenceAdded(dispute.id, *dispute.parties, by=by)


def voting_opened(dispute: Dispute) -> Event:
    """The time for evidence ended."""
    return DisputeVotingOpened(dispute.id, *dispute.parties, rule_by=dispute.rule_by.isoformat())


def ruled(dispute: Dispute, currency: str, *, counts: bool) -> Event:
    """The dispute was decided."""
    assert dispute.ruling is not None
    return DisputeRuled(
        dispute.id,
        *dispute.parties,
        ruling=dispute.ruling,
        ruled_by=None if dispute.ruled_by is None else f"developer:{dispute.ruled_by}",
        contract_id=dispute.contract_id,
        compensation_amount=format_amount(dispute.compensation_amount),
        slash_applied=format_amount(dispute.slash_applied),
        currency=currency,
        fee=format_amount(dispute.fee_paid),
        counts=counts,
    )


def slashed(dispute: Dispute, bond: BondSlashed, liquid: ledger.Result | None, currency: str) -> Event:
    """Units of the defendant were destroyed."""
    liquid_tx_id = None if liquid is None else liquid.tx_id
    from_liquid = ZERO if liquid is None or liquid_tx_id is None else liquid.moved
    tx_id = bond.tx_id if liquid_tx_id is None else liquid_tx_id
    assert tx_id is not None
    return DisputeSlash(
        did=dispute.defendant_did,
        dispute_id=dispute.id,
        amount=format_amount(bond.amount + from_liquid),
        from_bond=format_amount(bond.amount),
        from_liquid=format_amount(from_liquid),
        currency=currency,
        tx_id=tx_id,
        bond_tx_id=bond.tx_id,
    )


def compensated(dispute: Dispute, minted: ledger.Result, currency: str) -> Event:
    """Units were issued to the complainant."""
    assert minted.tx_id is not None
    return DisputeCompensationMinted(
        did=dispute.complainant_did,
        dispute_id=dispute.id,
        amount=format_amount(minted.moved),
        currency=currency,
        tx_id=minted.tx_id,
    )
