"""What follows when the transfer that pays a part of a contract to another registry is decided, in the commit of the decision."""

from datetime import timedelta

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import agents, transfers

from . import payment_store, rules
from .contract import Contract, Ending, Status
from .ending import fail
from .moves import DEADLINES, Act, move, schedule, take
from .paying_across import approve_paid_across
from .records import PartPaid
from .suspension import end_of_revoked

TIMEOUT = "TIMEOUT"
AUTOMATIC_TRIES = 12
AUTOMATIC_PAUSE = timedelta(minutes=10)


async def end_by_decision(
    tx: Tx, part: PartPaid, decision: transfers.CrossingDecision, settings: Settings
) -> None:
    """Approve the part that a transfer paid, or let the contract wait for its review again where it was aborted.

    COMMIT is binding also where an ABORT came before it: a registry that was restored may have forgotten it. It approves the part
    that still waits for its review.
    """
    contract = await take(tx, part.contract_id)
    is_awaited = contract.crossing == decision.transfer_id
    if decision.tx_id is not None and (is_awaited or _is_in_review(contract, part.milestone)):
        actor = await payment_store.who_began_payment(tx, contract.id)
        await approve_paid_across(tx, contract, decision.transfer_id, decision.tx_id, actor)
    elif decision.tx_id is None and is_awaited:
        await _not_paid(tx, contract, decision.code or "", settings)


def _is_in_review(contract: Contract, milestone: int | None) -> bool:
    """Whether this part is submitted, and no payment of it is under way."""
    current = contract.current.index if contract.current else None
    return contract.status == Status.SUBMITTED and contract.crossing is None and current == milestone


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
        tries = await payment_store.payments_failed(tx, contract.id, milestone)
        if code == TIMEOUT and tries < AUTOMATIC_TRIES:
            await _try_again(tx, waiting, tries)
        else:
            await fail(tx, waiting, Ending.NOT_REVIEWED, Act("not_reviewed", None), settings)


async def _try_again(tx: Tx, contract: Contract, tries: int) -> None:
    """The review is over and the provider's registry did not answer: the automatic approval is tried once more later."""
    key = f"{contract.id} automatic {tries}"
    await enqueue(tx, DEADLINES, key, {"contract_id": contract.id}, contract.now + AUTOMATIC_PAUSE)
