"""Part of a contract that a transfer pays which this registry forgot in a restore.

The id of a plain transfer shows it, for it follows from the part; of one with a payment token, whose id it has, the memo does. The number of
a contract alone does not: after a restore it may be given to another one.
"""

from collections.abc import Callable
from uuid import UUID

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import ledger, transfers

from . import payment_store, store
from .contract import Contract
from .payment_reference import contract_in, name_of, named_part
from .records import PartPaid

NUMBERS = 100
"""How many names of each part are compared: more payments of one part are not aborted in practice."""


async def forgotten_part(tx: Tx, transfer_id: UUID, settings: Settings) -> PartPaid | None:
    """The part that a transfer of the purpose `transfers.CONTRACT` pays, which is noted; None where it cannot be known."""
    payment = await transfers.find_payment(tx, transfer_id)
    number = None if payment is None else contract_in(payment.memo)
    contract = None if number is None else await store.find(tx, number)
    if payment is None or contract is None:
        return None
    if (contract.contractor_did, contract.provider_did) != (payment.sender_did, payment.receiver_did):
        return None
    frame, memo = ledger.Book.of(settings).frame, payment.memo

    def is_paid(milestone: int | None) -> bool:
        if memo == named_part(contract, frame, milestone):
            return True
        return any(name_of(contract, frame, milestone, one) == transfer_id for one in range(NUMBERS))

    part = _part_where(contract, is_paid)
    if part is not None:
        await payment_store.note_transfer(tx, transfer_id, part)
    return part


def _part_where(contract: Contract, is_paid: Callable[[int | None], bool]) -> PartPaid | None:
    parts: list[int | None] = [one.index for one in contract.milestones]
    return next(
        (PartPaid(contract.id, milestone) for milestone in parts or [None] if is_paid(milestone)), None
    )
