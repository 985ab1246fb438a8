"""Pay a part of a contract to a provider of another registry: its units cross, and the contract waits for the decision.

The id of the transfer is derived from the contract, the part and a number that rises with each abort, so that a registry that was
restored and forgot a payment finds it again instead of paying twice. With a payment token the transfer has the token's id, and its
memo names the part.

An automatic approval that could not pay a provider of another registry: it is tried again, or the contract fails.

Consequences for a contract when the transfer that pays a part of it to another registry is decided, in the commit of the decision.

Units that a transfer to another registry paid for a contract that does not owe them: known to both parties, and evidence in a dispute.

Only restores lead to it: a COMMIT comes to light of which this registry knew nothing when it paid the part again, or when the
contract ended otherwise. Units that were committed are not taken back; the payee returns them by a transfer of its own.

Part of a contract that a transfer pays which this registry forgot in a restore.

The id of a plain transfer shows it, for it follows from the part; of one with a payment token, whose id it has, the memo does. The number of
a contract alone does not: after a restore it may be given to another one.
"""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO
from hansa.rooms import agents, ledger, transfers
from hansa.rooms.commerce import payments

from . import events, payment_store, rules, store
from .approved import approve_once_paid
from .contract import Contract, Ending, Payment, Status
from .ending import fail
from .errors import PaymentUnderWay
from .payment_reference import contract_in, message_of, name_of, named_part
from .reading import ContractShown
from .records import PartPaid
from .suspension import end_of_revoked
from .transitions import DEADLINES, Act, move, schedule, take

SECONDS = 300.0
"""Without a decision the transfer is aborted: nobody waits for it so long."""
TRIES = 12
PAUSE = timedelta(minutes=10)
NUMBERS = 100
"""How many names of each part are compared: more payments of one part are not aborted in practice."""


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


async def not_begun(tx: Tx, contract: Contract, code: str, settings: Settings) -> None:
    """No transfer could be begun for this reason, which is one of `transfers.PASSING_CODES`."""
    milestone = contract.current.index if contract.current else None
    await move(tx, contract, contract, Act("payment_failed", None, milestone, note=code))
    await try_again_or_fail(tx, contract, code, settings)


async def try_again_or_fail(tx: Tx, contract: Contract, code: str, settings: Settings) -> None:
    """The review is over, and the payment failed for this reason, as the last line of the history says."""
    milestone = contract.current.index if contract.current else None
    tries = await payment_store.payments_failed(tx, contract.id, milestone)
    if code in transfers.PASSING_CODES and tries < TRIES:
        key = f"{contract.id} automatic {tries}"
        await enqueue(tx, DEADLINES, key, {"contract_id": contract.id}, contract.now + PAUSE)
    else:
        await fail(tx, contract, Ending.NOT_REVIEWED, Act("not_reviewed", None), settings)


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
        await try_again_or_fail(tx, waiting, code, settings)


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
