"""Units that a transfer to another registry paid for a contract that does not owe them: known to both parties, and evidence in a dispute.

Only restores lead to it: a COMMIT comes to light of which this registry knew nothing when it paid the part again, or when the
contract ended otherwise. Units that were committed are not taken back; the payee returns them by a transfer of its own.
"""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import transfers

from . import events, payment_store
from .contract import Contract
from .records import PartPaid
from .transitions import Act, move


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
