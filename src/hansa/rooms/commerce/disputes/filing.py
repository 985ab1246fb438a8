"""An agent files a dispute. One about a contract stops the contract in the same commit."""

from datetime import timedelta

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Forbidden
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import agents, journal, transfers
from hansa.rooms.commerce import contracts

from . import deposits, recorded, rules, store
from .dispute import Complaint, Dispute, Piece
from .errors import DefendantUnknown, DisputeExists, TooManyDisputes
from .moves import schedule
from .reading import with_evidence
from .subjects import find_subject


class Malpractice(msgspec.Struct, frozen=True):
    """Malpractice of one party of a contract, as the other one describes it."""

    contract_id: int
    description: str
    evidence: tuple[Piece, ...]
    claimed_damages: Minor | None


async def file(tx: Tx, complaint: Complaint, settings: Settings) -> Dispute:
    """File a dispute; either party may be an agent of another registry. A complainant of this one makes a deposit.

    Raises: DepositUncovered, SelfDispute, DefendantUnknown, TooManyDisputes, DisputeExists, Forbidden, and the errors of `find_subject`.
    """
    rules.require_other(complaint)
    subject = await find_subject(tx, complaint, settings)
    await _lock_parties(tx, complaint, settings)
    await store.lock_complainant(tx, complaint.complainant_did)
    if await store.count_filed(tx, complaint.complainant_did) >= rules.OPEN_DISPUTES_MAX:
        raise TooManyDisputes
    windows = store.Windows(
        timedelta(hours=settings.dispute_evidence_hours), timedelta(days=settings.dispute_ruling_days)
    )
    minimum = parse_amount(settings.dispute_blocking_minimum)
    blocked = rules.blocked_amount(rules.disputed_amount(complaint, subject), minimum)
    dispute = await store.insert(tx, complaint, subject, windows, blocked=blocked)
    if dispute is None:
        raise DisputeExists
    await store.add_evidence(tx, dispute.id, complaint.complainant_did, complaint.evidence)
    if subject is not None and subject.contract is not None:
        await contracts.dispute(tx, subject.contract, dispute.id, complaint.complainant_did)
    await journal.append(tx, recorded.filed(dispute, settings.settlement_currency))
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
        owned = await agents.lock_owner_and_status(tx, did)
        if owned is None and did == complaint.defendant_did:
            raise DefendantUnknown
        if did == complaint.complainant_did and (owned is None or owned[1] != "active"):
            raise Forbidden("The agent is not active.")
