"""Figures of payments: settled events of the journal, each added once, in the commit that moves the place behind it.

- `earned`, `spent` and `fees`: transfers and captures between accounts of this registry, and completed transfers from and to others.
- `paid_calls` and `failed`: payment tokens, for the agent that paid and the agent that was paid.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from hansa.foundation.events import A2APaymentFailed, A2APaymentSettled, CrossRegistryTransferCompleted
from hansa.foundation.plumbing.jobs import sweep_of, sweep_with_runtime
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import parse_amount
from hansa.rooms import agents, journal

from . import rules, store
from .records import NOTHING, Figures, Minute

EVENTS_AT_ONCE = 20_000
EVERY_SECONDS = 5
SETTLED, FAILED = A2APaymentSettled.__name__, A2APaymentFailed.__name__
CROSSED = CrossRegistryTransferCompleted.__name__

SETTLE_TIMES: Slot[Callable[[Tx, Sequence[UUID]], Awaitable[Mapping[UUID, int]]]] = Slot(
    "operations: times of settled payments"
)
"""Milliseconds from the authorization of these payment tokens to their settlement."""


class Tally:
    """Figures of a portion of events, by agent and minute."""

    def __init__(self, paid: Iterable[journal.Paid], events: Sequence[StoredEvent]) -> None:
        self.figures: dict[Minute, Figures] = {}
        self.settle_times: dict[Minute, dict[int, int]] = {}
        for one in paid:
            self._add(one.account, one.minute, Figures(earned=one.received, spent=one.paid, fees=one.fee))
        for event in events:
            self._take(event)

    def take_times(self, events: Sequence[StoredEvent], milliseconds: Mapping[UUID, int]) -> None:
        """Add the times of the settled payments among the events."""
        for event in events:
            taken = milliseconds.get(_token_of(event)) if event.event_type == SETTLED else None
            if taken is None:
                continue
            for did in _parties(event):
                times = self.settle_times.setdefault((did, minute_of(event.timestamp)), {})
                bucket = rules.bucket_of(taken)
                times[bucket] = times.get(bucket, 0) + 1

    def _take(self, event: StoredEvent) -> None:
        if event.event_type == CROSSED:
            self._add(event.aggregate_id, event.timestamp, _crossed(event))
            return
        figures = Figures(paid_calls=1) if event.event_type == SETTLED else Figures(failed=1)
        for did in _parties(event):
            self._add(did, event.timestamp, figures)

    def _add(self, did: str, at: datetime, figures: Figures) -> None:
        key = (did, minute_of(at))
        self.figures[key] = self.figures.get(key, NOTHING) + figures


def minute_of(at: datetime) -> datetime:
    """The beginning of the minute."""
    return at.astimezone(UTC).replace(second=0, microsecond=0)


async def add_settled(tx: Tx, runtime: Runtime) -> None:
    """Add the events that became settled since the last time, with a limit for each run."""
    after = await store.lock_counted(tx)
    before = await journal.end_of_portion(tx, after, EVENTS_AT_ONCE)
    paid = await journal.payments_between(tx, after, before)
    events = await journal.events_between(tx, (SETTLED, FAILED, CROSSED), after, before)
    tally = Tally(paid, events)
    tokens = [_token_of(event) for event in events if event.event_type == SETTLED]
    tally.take_times(events, await SETTLE_TIMES.of(runtime)(tx, tokens) if tokens else {})
    own = await agents.statuses_of(tx, sorted({did for did, _ in tally.figures}))
    await store.add(tx, {key: figures for key, figures in tally.figures.items() if key[0] in own})
    await store.add_settle_times(
        tx, {key: times for key, times in tally.settle_times.items() if key[0] in own}
    )
    await store.set_counted(tx, before)


def _token_of(event: StoredEvent) -> UUID:
    return UUID(event.data["token_id"])


def _parties(event: StoredEvent) -> set[str]:
    return {event.data["caller"], event.data["payee"]}


def _crossed(event: StoredEvent) -> Figures:
    if event.data["direction"] == "out":
        return Figures(spent=parse_amount(event.data["amount"]))
    return Figures(earned=parse_amount(event.data["amount_received"]))


COUNT_PAYMENTS = sweep_with_runtime(
    "operations: add settled payments to metrics",
    EVERY_SECONDS,
    add_settled,
    has_work=journal.has_settled_since(store.COUNTED),
)
FORGET_OLD = sweep_of("operations: forget old metrics", 60, store.has_old, store.forget_old)


async def add_log_errors(tx: Tx, did: str, at: datetime, entries: int) -> None:
    """Count entries of the level ERROR in the commit that writes them; the row of the log is locked before."""
    if entries:
        await store.add(tx, {(did, minute_of(at)): Figures(log_errors=entries)})
