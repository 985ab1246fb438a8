"""Signals enter the records of agents at once: counts, verified jobs and rulings. Scores wait for the next epoch."""

from collections.abc import Mapping, Sequence

from hansa.foundation.events import ContractCompleted
from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import agents, catalogue

from . import store
from .records import PaidJob, StoredSignal, TrackRecord
from .track_record import members_of

RECORDING = "reputation: record signals"
AT_ONCE = 500


async def _take_jobs(tx: Tx, paid: Sequence[StoredSignal], mark_min_fee: Minor) -> set[str]:
    """Count the jobs that these payments are for; the agents whose cards then show another record."""
    owners = await agents.owners_of(tx, sorted({signal.giver for signal in paid}))
    worthy = [(signal, _counterparty(signal.giver, owners)) for signal in paid if signal.fee >= mark_min_fee]
    verified = await store.verify_jobs(tx, worthy)
    jobs = [
        PaidJob(
            signal,
            is_contract=signal.event_type == ContractCompleted.__name__,
            is_verified=signal.event_seq in verified,
            is_foreign=signal.giver not in owners,
        )
        for signal in paid
    ]
    await store.add_jobs(tx, jobs)
    return {job.signal.receiver for job in jobs if job.is_verified or job.is_contract}


async def _take_ruling(tx: Tx, signal: StoredSignal) -> set[str]:
    defendant_won = signal.kind == "ruling_for_defendant"
    await store.add_ruling(tx, signal.receiver, won=defendant_won, takes_fees=not defendant_won)
    await store.add_ruling(tx, signal.giver, won=not defendant_won, takes_fees=False)
    return {signal.receiver, signal.giver}


async def _record(tx: Tx, runtime: Runtime, _: Job) -> None:
    mark_min_fee = parse_amount(runtime.settings.mark_min_fee)
    changed: set[str] = set()
    while signals := await store.unrecorded(tx, AT_ONCE):
        payments = [signal for signal in signals if signal.kind == "payment" and signal.counts]
        changed |= await _take_jobs(tx, payments, mark_min_fee) if payments else set()
        for signal in signals:
            if signal.kind != "payment":
                changed |= await _take_ruling(tx, signal)
        await store.set_recorded(tx, signals[-1].id)
    for did in sorted(changed):
        record = await store.track_record(tx, did) or TrackRecord()
        await catalogue.show_track_record(tx, did, record.jobs_verified, members_of(record))


RECORD_SIGNALS = TransactionalKind(RECORDING, _record)


def _counterparty(giver: str, owners: Mapping[str, int]) -> str:
    """Return the counterparty of which one job a day counts: the developer of an agent of this registry, else the registry of the agent.

    The latter is its DID without the last part.
    """
    owner = owners.get(giver)
    return giver.rpartition(":")[0] if owner is None else f"developer:{owner}"
