"""One move of a dispute: its new state, its event and the job of its next date, in one commit.

The events of disputes.
"""

from hansa.foundation.events import (
    DisputeCompensationMinted,
    DisputeEvidenceAdded,
    DisputeFiled,
    DisputeRuled,
    DisputeSlash,
    DisputeVotingOpened,
    Event,
)
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, format_amount
from hansa.rooms import journal, ledger
from hansa.rooms.commerce import contracts
from hansa.rooms.commerce.bonds import BondSlashed

from . import rules, store
from .dispute import Dispute
from .errors import DisputeUnknown, WrongState

DEADLINES = "commerce: dispute deadlines"


async def take(tx: Tx, dispute_id: int) -> tuple[Dispute, contracts.Contract | None]:
    """Lock a dispute, after its contract if it has one. Raises: DisputeUnknown."""
    found = await store.find(tx, dispute_id)
    if found is None:
        raise DisputeUnknown
    contract = None if found.contract_id is None else await contracts.take(tx, found.contract_id)
    dispute = await store.lock(tx, dispute_id)
    assert dispute is not None
    return dispute, contract


async def move(tx: Tx, before: Dispute, after: Dispute, *events: Event) -> Dispute:
    """Write a move. Raises: WrongState when the dispute is not in the state that it is moved from."""
    if not await store.save(tx, before, after):
        raise WrongState("The dispute has changed meanwhile.")
    await journal.append(tx, *events)
    if after.due_at is not None:
        await schedule(tx, after)
    return after


async def begin_voting(tx: Tx, dispute: Dispute) -> Dispute:
    """Open voting."""
    after = rules.voting(dispute)
    return await move(tx, dispute, after, voting_opened(after))


async def schedule(tx: Tx, dispute: Dispute) -> None:
    """Let a job run when the date that applies has come."""
    assert dispute.due_at is not None
    key = f"{dispute.id} {dispute.status}"
    await enqueue(tx, DEADLINES, key, {"dispute_id": dispute.id}, dispute.due_at)


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
        slash_reduction=format_amount(dispute.slash_reduction),
        attestation_ids=() if dispute.attested is None else dispute.attested.attestation_ids,
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
