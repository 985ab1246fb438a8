"""Effects of deadlines: carried out by a job when a deadline has come, in one transaction under the lock of the contract."""

from functools import partial

from hansa.foundation.plumbing.jobs import Job, PutOff, TransactionalKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms import ledger, transfers

from . import cross_registry_payment, paying, rules, store
from . import cross_registry_payment as paying_across
from .approved import approve_once_paid
from .contract import Contract, Ending, Status
from .ending import fail, withdraw
from .suspension import stop
from .transitions import DEADLINES, Act, contract_of_job, move, suspensions_at_deadline

# What keeps an automatic approval from being paid: the contract fails instead.
_UNPAYABLE: tuple[type[Refused], ...] = (
    ledger.InsufficientBalance,
    ledger.AccountSuspended,
    ledger.AccountUnknown,
    ledger.HoldEnded,
    ledger.HoldExpired,
    *transfers.CROSSING_REFUSALS,
)


async def meet_deadline(tx: Tx, contract_id: int, runtime: Runtime) -> None:
    """Carry out the deadline of a contract if it has come and no payment crosses; else the decision of the payment does so.

    Raises: PutOff while a suspension is to be followed.
    """
    settings = runtime.settings
    contract = await store.lock(tx, contract_id)
    if contract is None or contract.crossing is not None or not rules.is_due(contract):
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
            await _not_reviewed(tx, contract, runtime)
        case Status.FAILED:
            await paying.free_hold(tx, contract, settings)
            await move(tx, contract, rules.hold_freed(contract), Act("hold_released", None))
        case status:
            raise AssertionError(f"{status} has no deadline")


async def _not_reviewed(tx: Tx, contract: Contract, runtime: Runtime) -> None:
    settings = runtime.settings
    if contract.auto_approve:
        try:
            await _pay_and_approve(tx, contract, runtime)
        except _UNPAYABLE as refusal:
            if refusal.code in transfers.PASSING_CODES:
                await cross_registry_payment.not_begun(tx, contract, refusal.code, settings)
                return
        else:
            return
    await fail(tx, contract, Ending.NOT_REVIEWED, Act("not_reviewed", None), settings)


async def _pay_and_approve(tx: Tx, contract: Contract, runtime: Runtime) -> None:
    assert contract.provider_did is not None
    if await transfers.is_foreign(tx, contract.provider_did, runtime.settings):
        if await paying_across.approve_if_paid(tx, contract, None) is None:
            await paying_across.begin(tx, contract, paying_across.Approver(None), runtime)
    else:
        await approve_once_paid(tx, contract, partial(paying.pay_part, settings=runtime.settings), None)


async def _run(tx: Tx, runtime: Runtime, job: Job) -> None:
    await meet_deadline(tx, contract_of_job(job.key), runtime)


CONTRACT_DEADLINES = TransactionalKind(DEADLINES, _run)
