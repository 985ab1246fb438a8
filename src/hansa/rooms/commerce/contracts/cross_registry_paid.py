"""Consequences for a contract when the transfer that pays a part of it to another registry is decided, in the commit of the decision.

Units that a transfer to another registry paid for a contract that does not owe them: known to both parties, and evidence in a dispute.

Only restores lead to it: a COMMIT comes to light of which this registry knew nothing when it paid the part again, or when the
contract ended otherwise. Units that were committed are not taken back; the payee returns them by a transfer of its own.
"""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, transfers

from . import automatic, events, payment_store, rules
from .contract import Contract, Status
from .cross_registry_payment import approve_paid_across
from .records import PartPaid
from .suspension import end_of_revoked
from .transitions import Act, move, schedule, take


async def end_by_decision(
    tx: Tx, part: PartPaid, decision: transfers.CrossingDecision, settings: Settings
) -> None:
    """Approve the part that a transfer paid, or let the contract wait for its review again where it was aborted.

    COMMIT is binding also where an ABORT came before it: a registry that was restored may have forgotten it. It approves the part
    that still waits for its review, and ends the time of another transfer that is to pay it. A part that is paid already, or of a
    contract that ended, is paid beyond the amount that is owed.
    """
    contract = await take(tx, part.contract_id)
    if decision.tx_id is None:
        if contract.crossing == decision.transfer_id:
            await _not_paid(tx, contract, decision.code or "", settings)
    elif _awaits_payment(contract, part.milestone):
        if contract.crossing not in (None, decision.transfer_id):
            await transfers.give_up_payment(tx, contract.crossing)
        actor = await payment_store.who_began_payment(tx, contract.id)
        await approve_paid_across(tx, contract, decision.transfer_id, decision.tx_id, actor)
    else:
        await record_surplus(tx, contract, part, decision)


def _awaits_payment(contract: Contract, milestone: int | None) -> bool:
    """Return whether this part is submitted; it is not paid before it is approved."""
    current = contract.current.index if contract.current else None
    return contract.status == Status.SUBMITTED and current == milestone


async def _not_paid(tx: Tx, contract: Contract, code: str, settings: Settings) -> None:
    milestone = contract.current.index if contract.current else None
    waiting = rules.unpaid(contract)
    await move(tx, contract, waiting, Act("payment_failed", None, milestone, note=code))
    statuses = await agents.statuses_of(tx, [contract.contractor_did])
    if statuses.get(contract.contractor_did) == "revoked":
        await end_of_revoked(tx, contract.id, contract.contractor_did, settings)
    elif waiting.due_at is not None and not (rules.is_due(waiting) and waiting.auto_approve):
        await schedule(tx, waiting)
    elif waiting.due_at is not None:
        await automatic.try_again_or_fail(tx, waiting, code, settings)


async def record_surplus(
    tx: Tx, contract: Contract, part: PartPaid, decision: transfers.CrossingDecision
) -> None:
    """Record a payment that the contract does not owe, once; one that pays an approved part is none."""
    assert decision.tx_id is not None
    paid_by = {contract.payment_transfer, *(one.payment_transfer for one in contract.milestones)}
    if decision.transfer_id in paid_by:
        return
    if not await payment_store.note_surplus(tx, decision.transfer_id, decision.tx_id):
        return
    payment = await transfers.find_payment(tx, decision.transfer_id)
    assert payment is not None
    act = Act("overpaid", None, part.milestone, note=str(decision.transfer_id))
    event = events.overpaid(contract, part.milestone, payment.amount, decision)
    await move(tx, contract, contract, act, event)
