"""Run the reactors: each has a job of its own, so that it runs in one process at a time and is alone in its failures.

A run reacts to some events and commits them with its cursor. When one of them fails, those before it are committed
without it, so that the next run begins with it. It is retried after pauses, then set aside, and the reactor goes on
behind it.
"""

from collections.abc import Sequence

import msgspec
import structlog

from hansa.foundation.plumbing.jobs import Job, Retries, TransactionalKind
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import (
    begin,
    reactions_failed_total,
    reactions_set_aside_total,
    reactions_total,
)
from hansa.rooms.journal.listener import NOTIFICATIONS

from . import store
from .rules import error_text, job_name

BATCH_MAX, TOGETHER_MAX = 50, 500
# For what was committed without a notification, after a transaction that was open for as long as this.
LOOK_AGAIN_SECONDS = 10.0
RETRIES = Retries(attempts_max=8, pause_seconds=0.5, pause_max_seconds=60.0)

_log = structlog.get_logger()


async def settle_reactors(tx: Tx, reactors: Sequence[Reactor]) -> None:
    """Give each reactor its place in the journal where it has none, whether or not reactors run."""
    await store.settle(
        tx, [reactor.name for reactor in reactors], [reactor.from_the_start for reactor in reactors]
    )


def reactor_jobs(reactors: Sequence[Reactor], retries: Retries = RETRIES) -> list[TransactionalKind]:
    """The jobs that run these reactors, which must have been settled."""
    for counter in (reactions_total, reactions_failed_total, reactions_set_aside_total):
        begin(counter, [reactor.name for reactor in reactors])
    return [_kind(_Run(reactor), retries) for reactor in reactors]


def _kind(run: "_Run", retries: Retries) -> TransactionalKind:
    return TransactionalKind(
        job_name(run.reactor.name),
        run.react,
        retries=retries,
        every_seconds=LOOK_AGAIN_SECONDS,
        has_work=store.is_due(run.reactor.name, run.reactor.type_names),
        channel=NOTIFICATIONS,
        exhausted=run.set_aside,
    )


class _Run(msgspec.Struct, frozen=True):
    """Work of the job of one reactor."""

    reactor: Reactor

    async def react(self, tx: Tx, _: Runtime, job: Job) -> bool:
        """React to the next events, and move behind them; whether there may be more."""
        name = self.reactor.name
        most = TOGETHER_MAX if self.reactor.together else BATCH_MAX
        events = await self._next_events(tx, most)
        count = await self._react_together(tx, events) or await self._react_until_one_fails(
            tx, events[:BATCH_MAX], job
        )
        if count:
            await store.advance(tx, name, events[count - 1])
            reactions_total.labels(name).inc(count)
        return len(events) == most or count < len(events)

    async def set_aside(self, tx: Tx, job: Job, failure: Exception) -> None:
        """Move behind the event that failed in every attempt."""
        name = self.reactor.name
        events = await self._next_events(tx, 1)
        for event in events:
            await store.set_aside(tx, name, event, job.attempts, error_text(failure))
            reactions_set_aside_total.labels(name).inc()
            _log.error(
                "event set aside",
                reactor=name,
                event_type=event.event_type,
                seq=event.sequence,
                exc_info=failure,
            )

    async def _next_events(self, tx: Tx, limit: int) -> list[StoredEvent]:
        return await store.next_events(tx, self.reactor.name, self.reactor.type_names, limit)

    async def _react_together(self, tx: Tx, events: Sequence[StoredEvent]) -> int:
        """React to all at once; returns to how many, 0 where that is not possible or fails."""
        if self.reactor.together is None or not events:
            return 0
        try:
            async with tx.transaction():
                await self.reactor.together(tx, *events)
        except Exception:  # noqa: BLE001
            # One after the other finds which of them fails, and says so.
            return 0
        return len(events)

    async def _react_until_one_fails(self, tx: Tx, events: Sequence[StoredEvent], job: Job) -> int:
        """React in order; returns to how many. Raises: the error of the first of them."""
        count = 0
        try:
            async with tx.transaction():
                for event in events:
                    await self.reactor.react(tx, event)
                    count += 1
        except Exception:
            if not count:
                self._note_failure(events, job)
                raise
            # Nothing of it stands: those before the one that failed are reacted to again, without it.
            for event in events[:count]:
                await self.reactor.react(tx, event)
        return count

    def _note_failure(self, events: Sequence[StoredEvent], job: Job) -> None:
        reactions_failed_total.labels(self.reactor.name).inc()
        if events and job.attempts == 1:
            event = events[0]
            _log.warning(
                "reaction failed, will retry",
                reactor=self.reactor.name,
                event_type=event.event_type,
                seq=event.sequence,
            )
