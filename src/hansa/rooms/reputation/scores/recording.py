"""Signals enter the records of agents at once: counts, verified jobs and rulings. Scores wait for the next epoch."""

from hansa.foundation.events import ContractCompleted
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import agents, catalogue

from . import store
from .records import StoredSignal, TrackRecord
from .track_record import members_of

RECORDING = "reputation: record signals"
AT_ONCE = 500


class _Recording:
    """Some signals to be recorded; `changed` are the agents whose cards then show another record."""

    def __init__(self, tx: Tx, mark_min_fee: Minor) -> None:
        self.changed: set[str] = set()
        self._tx = tx
        self._mark_min_fee = mark_min_fee
        self._owners: dict[str, int | None] = {}

    async def take(self, signal: StoredSignal) -> None:
        if signal.kind != "payment":
            await self._take_ruling(signal)
        elif signal.counts:
            await self._take_job(signal)

    async def _take_job(self, signal: StoredSignal) -> None:
        owner = await self._owner_of(signal.giver)
        counterparty = _counterparty_abroad(signal.giver) if owner is None else _counterparty_here(owner)
        is_verified = signal.fee >= self._mark_min_fee and await store.verify_job(
            self._tx, signal, counterparty
        )
        is_contract = signal.event_type == ContractCompleted.__name__
        await store.add_job(
            self._tx, signal, is_contract=is_contract, is_verified=is_verified, is_foreign=owner is None
        )
        if is_verified or is_contract:
            self.changed.add(signal.receiver)

    async def _take_ruling(self, signal: StoredSignal) -> None:
        defendant_won = signal.kind == "ruling_for_defendant"
        await store.add_ruling(self._tx, signal.receiver, won=defendant_won)
        await store.add_ruling(self._tx, signal.giver, won=not defendant_won)
        self.changed |= {signal.receiver, signal.giver}

    async def _owner_of(self, did: str) -> int | None:
        if did not in self._owners:
            self._owners[did] = await agents.owner_of(self._tx, did)
        return self._owners[did]


async def _record(tx: Tx, runtime: Runtime, _: Job) -> None:
    recording = _Recording(tx, parse_amount(runtime.settings.mark_min_fee))
    while signals := await store.unrecorded(tx, AT_ONCE):
        for signal in signals:
            await recording.take(signal)
        await store.set_recorded(tx, signals[-1].id)
    for did in sorted(recording.changed):
        record = await store.track_record(tx, did) or TrackRecord()
        await catalogue.show_track_record(tx, did, record.jobs_verified, members_of(record))


RECORD_SIGNALS = TransactionalKind(RECORDING, _record)


# Marks count one job of each counterparty and day.
def _counterparty_here(owner: int) -> str:
    """For an agent of this registry: its developer."""
    return f"developer:{owner}"


def _counterparty_abroad(did: str) -> str:
    """For an agent of another registry: that registry, which is the DID without its last part."""
    return did.rpartition(":")[0]
