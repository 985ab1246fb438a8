"""Epochs: the scores of all agents, computed once for each UTC day from the signals of earlier days.

Signals are payments, completed contracts and rulings, written once each by a reactor on their events. They enter the records of agents at once: counts, verified jobs and rulings. Scores wait for the next epoch.

Units with which owners pay for jobs that count: granted by an administrator or earned by jobs that count.

Genesis grants are no such units, and neither are units of a transfer: whoever makes accounts gets genesis grants for nothing.
- A job counts only if the payer's owner has units for its amount and fee. They are then the payee's owner's, except the fee.
- A ruling in favor of the defendant counts only if the complainant's owner has units for the fee in question, which it then loses.
- A payment from another registry that counts brings its amount, times the share of its border fee that counts.
All units of owners together are thus never more than administrators granted and other registries paid.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from hansa.foundation.events import (
    A2APaymentSettled,
    ContractCompleted,
    CrossRegistryTransferCompleted,
    DisputeRuled,
)
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.jobs import Job, TransactionalKind, enqueue, scheduled, sweep_of
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, parse_amount
from hansa.foundation.values.rights import Owner
from hansa.rooms import agents, catalogue, journal, ledger
from hansa_verify import Score, Signal, read_signal, scores_of

from . import store
from .records import PaidJob, StoredSignal, TrackRecord
from .track_record import members_of

CHECKED_EVERY_SECONDS = 20
CARDS_EVERY_SECONDS = 5
CARDS_AT_ONCE = 500
RECORDING = "reputation: record signals"
AT_ONCE = 500
Noted = tuple[StoredEvent, Signal, Minor]
GRANTS_AT_ONCE = 500


async def compute_due_epoch(runtime: Runtime) -> None:
    """Compute the scores of today, unless that was done or signals of yesterday are still to be noted."""
    epoch = await runtime.database.read(_due)
    if epoch is not None:
        await compute_epoch(runtime, epoch)


async def compute_epoch(runtime: Runtime, epoch: date) -> None:
    """Compute the scores of an epoch from the first signal on, and write them in one transaction."""
    through, signals = await runtime.database.read(lambda tx: _read(tx, epoch))
    # In a thread: requests are served meanwhile.
    scores = await asyncio.to_thread(scores_of, signals, epoch)
    in_order = sorted(scores.items())
    await runtime.database.transaction(lambda tx: _write(tx, epoch, through, in_order))


async def _due(tx: Tx) -> date | None:
    due = await store.due_epoch(tx)
    if due is None:
        return None
    epoch, is_midnight_passed = due
    if is_midnight_passed:
        return epoch
    [reading] = await journal.read_reactors(tx, [SIGNALS])
    return None if reading.events_waiting else epoch


async def _read(tx: Tx, epoch: date) -> tuple[int, list[Signal]]:
    through = await store.last_signal(tx)
    return through, await store.signals_of_epoch(tx, epoch, through)


async def _write(tx: Tx, epoch: date, through: int, scores: list[tuple[str, Score]]) -> None:
    if await store.add_epoch(tx, epoch, through):
        await store.add_flows(tx, epoch, through)
        await store.write_scores(tx, epoch, scores)


async def show_scores(tx: Tx) -> None:
    """Let cards show the scores of the newest epoch, some at a time."""
    scores = await store.take_scores_off_card(tx, CARDS_AT_ONCE)
    await catalogue.show_scores(tx, scores)


async def _note(tx: Tx, /, *events: StoredEvent) -> None:
    # A dispute that was dismissed says nothing of its parties.
    found = [(event, signal) for event in events if (signal := _signal_of(event))]
    known = await store.noted_events(tx, [event.sequence for event, _ in found]) if found else frozenset()
    noted = [(event, signal, _paid(event, signal)) for event, signal in found if event.sequence not in known]
    if noted:
        await store.add_signals(tx, await evaluate(tx, noted))
        await enqueue(tx, RECORDING, "all")


def _paid(event: StoredEvent, signal: Signal) -> Minor:
    if signal.kind != "payment":
        return ZERO
    # What came from another registry is distinguished from what its payee received of it.
    return parse_amount(event.data.get("amount_received") or event.data["amount"])


def _signal_of(event: StoredEvent) -> Signal | None:
    return read_signal(
        {"event_type": event.event_type, "timestamp": event.timestamp.isoformat(), "data": event.data}
    )


class Funds:
    """The units of owners, in minor units."""

    def __init__(self, available: dict[Owner, int]) -> None:
        self.available = available

    def add(self, owner: Owner, amount: int) -> None:
        """Give an owner units."""
        self.available[owner] = self.available.get(owner, 0) + amount

    def pay(self, payer: Owner, payee: Owner, amount: int, fee: int) -> bool:
        """Pay for a job, if the payer's owner has the units; whether it has."""
        if self.available.get(payer, 0) < amount + fee:
            return False
        self.add(payer, -(amount + fee))
        self.add(payee, amount)
        return True


async def evaluate(tx: Tx, noted: Sequence[Noted]) -> list[Noted]:
    """These signals in their order, those that nobody could pay for with `counts` false. One transaction after another calls this."""
    granted_to = await _granted(tx)
    parties = {did for _, signal, _ in noted for did in (signal.giver, signal.receiver)}
    owners = await agents.ownerships_of(tx, sorted(parties | granted_to.keys()))
    funds = Funds(await store.lock_funds(tx, frozenset(owners.values())))
    for payee, amount in granted_to.items():
        if payee in owners:
            funds.add(owners[payee], amount)
    judged = [(event, _judged(funds, owners, event, signal, paid), paid) for event, signal, paid in noted]
    await store.write_funds(tx, funds.available)
    return judged


async def _granted(tx: Tx) -> dict[str, int]:
    """Return the units that administrators granted since, by the agent."""
    granted: dict[str, int] = {}
    after = await store.granted(tx)
    while found := await ledger.treasury_grants_after(tx, after, GRANTS_AT_ONCE):
        for one in found:
            granted[one.payee] = granted.get(one.payee, 0) + one.amount
        after = found[-1].id
        await store.set_granted(tx, after)
    return granted


def _judged(
    funds: Funds, owners: dict[str, Owner], event: StoredEvent, signal: Signal, paid: Minor
) -> Signal:
    if not signal.counts or signal.kind == "ruling_for_complainant":
        return signal
    payer, payee = owners.get(signal.giver), owners.get(signal.receiver)
    if event.event_type == CrossRegistryTransferCompleted.__name__:
        border_fee = parse_amount(event.data["fee"])
        if payee is not None and border_fee:
            funds.add(payee, paid * signal.fee // border_fee)
        return signal
    is_funded = payer is not None and payee is not None and funds.pay(payer, payee, paid, signal.fee)
    return replace(signal, counts=is_funded)


SIGNALS = Reactor(
    "reputation: signals",
    (A2APaymentSettled, ContractCompleted, CrossRegistryTransferCompleted, DisputeRuled),
    _note,
    from_the_start=True,
    together=_note,
)
JOBS = (
    scheduled("reputation: compute scores", CHECKED_EVERY_SECONDS, compute_due_epoch, store.HAS_DUE_EPOCH),
    sweep_of("reputation: scores on cards", CARDS_EVERY_SECONDS, store.HAS_OFF_CARD, show_scores),
)


async def _take_jobs(tx: Tx, paid: Sequence[StoredSignal], mark_min_fee: Minor) -> set[str]:
    """Count the jobs that these payments are for; the agents whose cards then show another record."""
    owners = await agents.ownerships_of(tx, sorted({signal.giver for signal in paid}))
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
    settings = await parameters.in_force(tx, runtime.settings)
    mark_min_fee = parse_amount(settings.mark_min_fee)
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


def _counterparty(giver: str, owners: Mapping[str, Owner]) -> str:
    """Return the counterparty of which one job a day counts: the owner of an agent of this registry, else the registry of the agent.

    The latter is its DID without the last part.
    """
    owner = owners.get(giver)
    return owner.name if owner else giver.rpartition(":")[0]


RECORD_SIGNALS = TransactionalKind(RECORDING, _record)
