"""Which part of a contract a transfer pays that this registry forgot in a restore.

The id of a transfer shows it, for it follows from the part; of a payment token the token, where it names its contract. The number of
a contract alone does not: after a restore it may be given to another one.
"""

from uuid import UUID

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import ledger, transfers
from hansa.rooms.commerce import payments

from . import paying, payment_store, store
from .contract import Contract
from .paying_across import name_of
from .records import PartPaid

NUMBERS = 100
"""How many names of each part are compared: more payments of one part are not aborted in practice."""


async def forgotten_part(tx: Tx, transfer_id: UUID, settings: Settings) -> PartPaid | None:
    """The part that a transfer of the purpose `transfers.CONTRACT` pays, which is noted; None where it cannot be known."""
    payment = await transfers.find_payment(tx, transfer_id)
    number = None if payment is None else paying.contract_in(payment.memo)
    contract = None if number is None else await store.find(tx, number)
    if payment is None or contract is None:
        return None
    if (contract.contractor_did, contract.provider_did) != (payment.sender_did, payment.receiver_did):
        return None
    token = await payments.token_of_id(tx, transfer_id)
    if token is None:
        part = _part_of(contract, transfer_id, ledger.Book.of(settings).frame)
    elif token.contract_id == contract.id:
        part = PartPaid(contract.id, contract.current.index if contract.current else None)
    else:
        return None
    if part is not None:
        await payment_store.note_transfer(tx, transfer_id, part)
    return part


def _part_of(contract: Contract, transfer_id: UUID, frame: str) -> PartPaid | None:
    parts: list[int | None] = [None]
    if contract.milestones:
        parts = [one.index for one in contract.milestones]
    for milestone in parts:
        for number in range(NUMBERS):
            if name_of(contract, frame, milestone, number) == transfer_id:
                return PartPaid(contract.id, milestone)
    return None
