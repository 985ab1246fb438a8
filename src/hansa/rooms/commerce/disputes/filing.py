"""An agent files a dispute. One about a contract stops the contract in the same commit.

Payment that a complaint is about: a contract, a payment token or a transaction leads to the same one.

Tokens and transactions that have ended are only read, because they do not change any more; a contract is locked, because a dispute changes it.

A party adds evidence, as long as the dispute is open.
"""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Forbidden
from hansa.foundation.values.money import ZERO, Minor, parse_amount
from hansa.rooms import agents, journal, ledger, transfers
from hansa.rooms.commerce import contracts, payments

from . import deposits, moves, rules, store
from .attested import cite, require_cited
from .dispute import Complaint, Dispute, Funds, Given, Piece, Subject
from .errors import (
    DefendantUnknown,
    DisputeExists,
    PayerOnly,
    PaymentNotEnded,
    PaymentUnknown,
    TooManyDisputes,
    TooMuchEvidence,
)
from .funds import funds_of
from .moves import schedule, take
from .reading import with_evidence


class Malpractice(msgspec.Struct, frozen=True):
    """Malpractice of one party of a contract, as the other one describes it."""

    contract_id: int
    description: str
    evidence: tuple[Piece, ...]
    claimed_damages: Minor | None


async def file(tx: Tx, complaint: Complaint, settings: Settings) -> Dispute:
    """File a dispute; either party may be an agent of another registry. A complainant of this one makes a deposit.

    Raises: CitedUnknown, DepositUncovered, SelfDispute, DefendantUnknown, TooManyDisputes, DisputeExists, Forbidden, and the errors of `find_subject`.
    """
    rules.require_other(complaint)
    await require_cited(tx, complaint.attestation_ids)
    subject = await find_subject(tx, complaint, settings)
    await _lock_parties(tx, complaint, settings)
    await store.lock_complainant(tx, complaint.complainant_did)
    if await store.count_filed(tx, complaint.complainant_did) >= rules.OPEN_DISPUTES_MAX:
        raise TooManyDisputes
    present_settings = await parameters.in_force(tx, settings)
    windows = store.Windows(
        timedelta(hours=present_settings.dispute_evidence_hours),
        timedelta(days=present_settings.dispute_ruling_days),
    )
    minimum = parse_amount(settings.dispute_blocking_minimum)
    blocked = rules.blocked_amount(rules.disputed_amount(complaint, subject), minimum)
    dispute = await store.insert(tx, complaint, subject, windows, blocked=blocked)
    if dispute is None:
        raise DisputeExists
    await store.add_evidence(tx, dispute.id, complaint.complainant_did, complaint.evidence)
    if subject is not None and subject.contract is not None:
        await contracts.dispute(tx, subject.contract, dispute.id, complaint.complainant_did)
    await journal.append(tx, moves.filed(dispute, settings.settlement_currency))
    if not await transfers.is_foreign(tx, complaint.complainant_did, settings):
        due = rules.deposit_due(complaint, subject, deposits.policy_of(settings))
        dispute = await deposits.make(tx, dispute, due, settings)
    await schedule(tx, dispute)
    return await with_evidence(tx, dispute)


async def file_malpractice(tx: Tx, agent: Agent, record: Malpractice, settings: Settings) -> Dispute:
    """File a dispute against the other party of a contract for malpractice. Raises: as `file`."""
    contract = await contracts.take(tx, record.contract_id)
    others = [did for did in contract.parties if did != agent.did]
    if agent.did not in contract.parties or not others:
        raise contracts.ContractUnknown
    complaint = Complaint(
        agent.did,
        others[0],
        "CONTRACT_VIOLATION",
        record.description,
        contract_id=record.contract_id,
        claimed_amount=record.claimed_damages,
        is_malpractice=True,
        evidence=record.evidence,
    )
    return await file(tx, complaint, settings)


async def _lock_parties(tx: Tx, complaint: Complaint, settings: Settings) -> None:
    """Neither party ends while the dispute comes to be. Raises: DefendantUnknown, Forbidden."""
    for did in sorted((complaint.complainant_did, complaint.defendant_did)):
        if await transfers.is_foreign(tx, did, settings):
            if await transfers.peer_of(tx, did, settings) is None:
                raise DefendantUnknown
            continue
        status = await agents.lock_status(tx, did)
        if status is None and did == complaint.defendant_did:
            raise DefendantUnknown
        if did == complaint.complainant_did and status != "active":
            raise Forbidden("The agent is not active.")


async def find_subject(tx: Tx, complaint: Complaint, settings: Settings) -> Subject | None:
    """The subject of a complaint; None where it names none.

    Raises: contracts.ContractUnknown, PaymentUnknown, NotAParty, contracts.WrongState, contracts.DeadlinePassed,
    NothingSubmitted, PaymentNotEnded, PayerOnly, TooLate.
    """
    if complaint.contract_id is not None:
        return await _contract(tx, complaint, complaint.contract_id, settings)
    if complaint.token_id is not None:
        return await _token(tx, complaint, complaint.token_id, settings)
    if complaint.tx_id is not None:
        return await _transaction(tx, complaint, complaint.tx_id, settings)
    return None


async def _require_recent(tx: Tx, ended_at: datetime, settings: Settings) -> None:
    """Require that the time for a dispute about a payment, as it was when the payment ended, is not over. Raises: TooLate."""
    settings = await parameters.in_force_at(tx, settings, ended_at)
    rules.require_recent(ended_at + timedelta(hours=settings.dispute_window_hours), await clock.now(tx))


async def _contract(tx: Tx, complaint: Complaint, contract_id: int, settings: Settings) -> Subject:
    contract = await contracts.take(tx, contract_id)
    if complaint.complainant_did not in contract.parties:
        raise contracts.ContractUnknown
    rules.require_parties(complaint, contract.parties)
    overpaid_at = await contracts.overpaid_at(tx, contract_id)
    if complaint.complainant_did == contract.provider_did:
        rules.require_submitted(is_stated=await contracts.is_last_submission_stated(tx, contract_id))
    rules.require_disputable(contract, await contracts.dispute_window(tx, contract, settings), overpaid_at)
    await contracts.require_in_time(tx, contract)
    funds = await funds_of(tx, contract)
    return rules.subject_of(contract, funds, await contracts.rulings_about(tx, contract_id))


async def _token(tx: Tx, complaint: Complaint, token_id: UUID, settings: Settings) -> Subject:
    token = await payments.token_of_id(tx, token_id)
    if token is None or complaint.complainant_did not in (token.caller, token.payee):
        raise PaymentUnknown
    if token.tx_id is not None and (contract_id := await contracts.paid_by(tx, token.tx_id)) is not None:
        return await _contract(tx, complaint, contract_id, settings)
    rules.require_parties(complaint, (token.caller, token.payee))
    if token.ended_at is None:
        raise PaymentNotEnded(
            f"The payment token is {token.status}; a dispute may be filed when it has ended."
        )
    if token.tx_id is None and not await payments.was_used(tx, token.id):
        raise PaymentNotEnded("The payment token was never used and paid nothing.")
    await _require_recent(tx, token.ended_at, settings)
    return Subject(
        f"token:{token.id}",
        token.caller,
        token.paid,
        token.fee or ZERO,
        Funds(ZERO if token.tx_id is None else token.paid, ZERO),
        token_id=token.id,
        tx_id=token.tx_id,
    )


async def _transaction(tx: Tx, complaint: Complaint, tx_id: int, settings: Settings) -> Subject:
    paid = await ledger.find_payment(tx, tx_id) or await ledger.find_payment_abroad(tx, tx_id)
    if paid is None or complaint.complainant_did not in (paid.payer, paid.payee):
        raise PaymentUnknown
    if (contract_id := await contracts.paid_by(tx, tx_id)) is not None:
        return await _contract(tx, complaint, contract_id, settings)
    if (token := await payments.token_of_payment(tx, tx_id)) is not None:
        return await _token(tx, complaint, token.id, settings)
    rules.require_parties(complaint, (paid.payer, paid.payee))
    if complaint.complainant_did != paid.payer:
        raise PayerOnly
    await _require_recent(tx, paid.recorded_at, settings)
    return Subject(
        f"transaction:{tx_id}", paid.payer, paid.amount, paid.fee, Funds(paid.amount, ZERO), tx_id=tx_id
    )


async def add_evidence(tx: Tx, agent: Agent, dispute_id: int, given: Given) -> Dispute:
    """Add a piece of evidence, citations of attestations, or both.

    Raises: DisputeUnknown, EvidenceClosed, TooMuchEvidence, CitedUnknown, AttestationsTooMany.
    """
    dispute, _ = await take(tx, dispute_id)
    rules.require_seen(dispute, agent.did)
    rules.require_evidence_open(dispute)
    if given.piece is not None:
        earlier = [one.piece for one in (await with_evidence(tx, dispute)).evidence if one.by == agent.did]
        if not rules.has_room_for(earlier, given.piece):
            raise TooMuchEvidence
        await store.add_evidence(tx, dispute.id, agent.did, [given.piece])
    if given.attestation_ids:
        await cite(tx, dispute, agent.did, given.attestation_ids)
    await journal.append(tx, moves.evidence_added(dispute, agent.did))
    changed = await store.find(tx, dispute.id)
    assert changed is not None, "the dispute is locked"
    return await with_evidence(tx, changed)
