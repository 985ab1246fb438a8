"""What a deadline brings: carried out by a job when it has come, in one transaction under the lock of the contract."""

from functools import partial

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import Job, PutOff, TransactionalKind
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import ledger

from . import paying, rules, store
from .approve import approve_once_paid
from .contract import Contract, Ending, Status
from .ending import fail, withdraw
from .moves import DEADLINES, Act, move, suspensions_at_deadline
from .suspension import stop

# What keeps an automatic approval from being paid: the contract fails instead.
_UNPAYABLE = (
    ledger.InsufficientBalance,
    ledger.AccountSuspended,
    ledger.AccountUnknown,
    ledger.HoldEnded,
    ledger.HoldExpired,
)


async def meet_deadline(tx: Tx, contract_id: int, settings: Settings) -> None:
    """Do what the deadline of a contract brings, if it has come. Raises: PutOff while a suspension is to be followed."""
    contract = await store.lock(tx, contract_id)
    if contract is None or not rules.is_due(contract):
        return
    if suspensions := await suspensions_at_deadline(tx, contract):
        for suspension in suspensions:
            if suspension.lifted_at is not None:
                raise PutOff(
                    "A party was suspended when the deadline came; the dates have not been moved yet."
                )
            await stop(tx, contract.id, suspension.did, suspension.since)
        return
    match contract.status:
        case Status.PROPOSED:
            act = Act("proposal_expired", None)
            await withdraw(tx, contract, Status.EXPIRED, Ending.PROPOSAL_EXPIRED, act)
        case Status.ACCEPTED:
            await fail(tx, contract, Ending.NOT_SUBMITTED, Act("not_submitted", None), settings)
        case Status.SUBMITTED:
            await _not_reviewed(tx, contract, settings)
        case Status.FAILED:
            await paying.free_hold(tx, contract, settings)
            await move(tx, contract, rules.hold_freed(contract), Act("hold_released", None))
        case status:
            raise AssertionError(f"{status} has no deadline")


async def _not_reviewed(tx: Tx, contract: Contract, settings: Settings) -> None:
    if contract.auto_approve:
        try:
            await approve_once_paid(tx, contract, partial(paying.pay_part, settings=settings), None)
        except _UNPAYABLE:
            pass
        else:
            return
    await fail(tx, contract, Ending.NOT_REVIEWED, Act("not_reviewed", None), settings)


async def _run(tx: Tx, runtime: Runtime, job: Job) -> None:
    await meet_deadline(tx, job.payload["contract_id"], runtime.settings)


CONTRACT_DEADLINES = TransactionalKind(DEADLINES, _run)
