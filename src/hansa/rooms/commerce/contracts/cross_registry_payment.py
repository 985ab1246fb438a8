"""Pay a part of a contract to a provider of another registry: its units cross, and the contract waits for the decision.

The id of the transfer is derived from the contract, the part and a number that rises with each abort, so that a registry that was
restored and forgot a payment finds it again instead of paying twice. With a payment token the transfer has the token's id, and its
memo names the part.
"""

from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO
from hansa.rooms import agents, ledger, transfers
from hansa.rooms.commerce import payments

from . import payment_store, rules
from .approved import approve_once_paid
from .contract import Contract, Payment
from .errors import PaymentUnderWay
from .payment_reference import message_of, name_of, named_part
from .reading import ContractShown
from .records import PartPaid
from .transitions import Act, move

SECONDS = 300.0
"""Without a decision the transfer is aborted: nobody waits for it so long."""
UNBUDGETED = agents.HeldBudget(is_counted=False, capability_id=None)


class Approver(msgspec.Struct, frozen=True):
    """Party that approves: an agent, or None where the time for the review is over.

    An ABORT frees the Idempotency-Key of `request_scope`, and returns the part of the agent's budget that was `held`.
    """

    did: str | None
    held: agents.HeldBudget = UNBUDGETED
    request_scope: bytes | None = None


async def approve_if_paid(tx: Tx, contract: Contract, actor: str | None) -> ContractShown | None:
    """Approve the submitted part by the transfer that paid it before a restore, whichever that was; None where it is unpaid.

    Such a payment came to light while the contract could not be approved, as during a dispute.
    """
    paid = await payment_store.surplus_for(tx, _part_of(contract))
    if paid is None:
        return None
    transfer_id, tx_id = paid
    return await approve_paid_across(tx, contract, transfer_id, tx_id, actor)


async def begin(tx: Tx, contract: Contract, approver: Approver, runtime: Runtime) -> ContractShown:
    """Reserve the submitted part for the provider's registry; a part that was paid before a restore is approved at once.

    Raises: PaymentUnderWay, the errors of `transfers.require_reachable` and `transfers.reserve_payment`.
    """
    assert contract.provider_did is not None
    corridor = await transfers.corridor_to(tx, contract.provider_did, runtime)
    transfer_id, earlier = await _next_name(tx, contract, corridor)
    if earlier is not None:
        if earlier.state != "committed":
            raise PaymentUnderWay(context={"payment_tx_id": str(transfer_id)})
        tx_id = await transfers.movement_of(tx, corridor, transfer_id)
        return await approve_paid_across(tx, contract, transfer_id, tx_id, approver.did)
    order = ledger.TransferOrder(
        contract.contractor_did, contract.provider_did, contract.part, message_of(contract)
    )
    payment = transfers.CrossingPayment(
        transfer_id, order, SECONDS, transfers.CONTRACT, approver.held, approver.request_scope
    )
    return await _begun(tx, corridor, contract, payment, approver.did)


async def begin_with_token(
    tx: Tx, contract: Contract, secret: str, approver: Approver, runtime: Runtime
) -> ContractShown:
    """Do the same as `begin`, by settling a payment token of the contractor. Raises: the errors of `payments.begin_within` too."""
    assert contract.provider_did is not None
    corridor = await transfers.corridor_to(tx, contract.provider_did, runtime)
    terms = payments.Terms(contract.contractor_did, contract.provider_did, contract.part, contract.id)
    part = named_part(contract, corridor.book.frame, _part_of(contract).milestone)
    settled = await payments.begin_within(tx, secret, terms, part)
    payment = replace(settled, request_scope=approver.request_scope)
    return await _begun(tx, corridor, contract, payment, approver.did)


async def approve_paid_across(
    tx: Tx, contract: Contract, transfer_id: UUID, tx_id: int, actor: str | None
) -> ContractShown:
    """Write that the submitted part is approved, which this transfer paid."""

    async def paid(tx: Tx, paying: Contract) -> Payment:
        await payment_store.note_owed(tx, transfer_id)
        return Payment(tx_id, paying.part, ZERO, transfer_id)

    return await approve_once_paid(tx, contract, paid, actor)


async def _begun(
    tx: Tx,
    corridor: transfers.Corridor,
    contract: Contract,
    payment: transfers.CrossingPayment,
    actor: str | None,
) -> ContractShown:
    await transfers.reserve_payment(tx, corridor, payment)
    part = _part_of(contract)
    await payment_store.note_transfer(tx, payment.transfer_id, part)
    after = rules.paying(contract, payment.transfer_id)
    return await move(tx, contract, after, Act("payment_begun", actor, part.milestone))


def _part_of(contract: Contract) -> PartPaid:
    """The part whose turn it is."""
    return PartPaid(contract.id, contract.current.index if contract.current else None)


async def _next_name(
    tx: Tx, contract: Contract, corridor: transfers.Corridor
) -> tuple[UUID, transfers.CrossingView | None]:
    """The name of the next transfer, and the transfer itself where a restored registry has it already."""
    milestone = _part_of(contract).milestone
    # From the first on: one that was aborted may have been committed after all, as a restore brought to light.
    number = 0
    while True:
        transfer_id = name_of(contract, corridor.book.frame, milestone, number)
        found = await transfers.find_payment(tx, transfer_id)
        if found is None or found.state != "aborted":
            return transfer_id, found
        number += 1
