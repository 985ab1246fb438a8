"""Run the reactors: each by itself, alone in its failures, in one process at a time.

Whoever has something to react to locks the reactor's row, reacts to a few events and commits both together. When one of
them fails, nothing of it stands; they are then taken one by one, until the event that fails is alone. It is tried
again after pauses, then set aside, and the reactor goes on behind it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import asyncpg
import structlog

from hansa.foundation.plumbing.database import OUT_OF_REACH, Database, Tx
from hansa.foundation.plumbing.job_health import JobHealth
from hansa.foundation.plumbing.metrics import (
    reactions_failed_total,
    reactions_set_aside_total,
    reactions_total,
)
from hansa.foundation.plumbing.reactors import Reactor, StoredEvent
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.journal.listener import listening

from . import store
from .rules import RetryPolicy, error_text

BATCH_MAX = 50
# Under load the journal notifies without a pause, mostly of what no reactor asks for.
PACE_SECONDS = 0.1
POLL_MIN_SECONDS = 0.02
POLL_MAX_SECONDS = 1.0
RECONNECT_SECONDS = 1.0
NOTIFICATIONS = "reactors: notifications of the journal"

_log = structlog.get_logger()


async def settle_reactors(tx: Tx, reactors: Sequence[Reactor]) -> None:
    """Give each reactor its place in the journal where it has none, whether or not reactors run."""
    await store.settle(
        tx, [reactor.name for reactor in reactors], [reactor.from_the_start for reactor in reactors]
    )


async def run_reactors(
    database: Database,
    reactors: Sequence[Reactor],
    retry_policy: RetryPolicy | None = None,
    health: JobHealth | None = None,
) -> None:
    """Run until cancelled; they must have been settled."""
    health = health or JobHealth()
    runs = [_Run(database, reactor, retry_policy or RetryPolicy(), health) for reactor in reactors]
    async with asyncio.TaskGroup() as group:
        group.create_task(_wake(database.dsn, [run.wake for run in runs], health))
        for run in runs:
            group.create_task(run.keep_reacting())


async def _wake(dsn: str, wakes: Sequence[asyncio.Event], health: JobHealth) -> None:
    """Wake the reactors at each notification; without notifications they look by themselves."""

    async def listen() -> None:
        ended = asyncio.Event()
        try:
            async with listening(dsn, *wakes) as connection:
                health.succeeded(NOTIFICATIONS)
                connection.add_termination_listener(lambda _: ended.set())
                await ended.wait()
        except (*OUT_OF_REACH, asyncpg.PostgresError) as trouble:
            raise Unavailable(f"Notifications cannot be received: {type(trouble).__name__}.") from trouble

    while True:
        pause = await health.attempt(NOTIFICATIONS, listen)
        await asyncio.sleep(max(RECONNECT_SECONDS, pause))


class _Run:
    """One reactor in this process."""

    def __init__(
        self, database: Database, reactor: Reactor, retry_policy: RetryPolicy, health: JobHealth
    ) -> None:
        self.wake = asyncio.Event()
        self._database = database
        self._reactor = reactor
        self._retry_policy = retry_policy
        self._health = health
        self._job = f"reactor: {reactor.name}"
        self._waits_for_an_event = False
        self._reacted = False

    async def keep_reacting(self) -> None:
        poll_seconds = POLL_MIN_SECONDS
        while True:
            self.wake.clear()
            pause = await self._health.attempt(self._job, self._catch_up)
            if self._reacted:
                poll_seconds = POLL_MIN_SECONDS
            await asyncio.sleep(max(PACE_SECONDS, pause))
            with suppress(TimeoutError):
                async with asyncio.timeout(poll_seconds):
                    await self.wake.wait()
                    poll_seconds = POLL_MIN_SECONDS
                    continue
            poll_seconds = min(2 * poll_seconds, POLL_MAX_SECONDS)

    async def _catch_up(self) -> bool:
        """React to all that is due; returns False while an event fails or another process is at it."""
        name, types = self._reactor.name, self._reactor.type_names
        self._reacted = False
        while await self._database.look(lambda tx: store.is_due(tx, name, types)):
            if not await self._take_turn(BATCH_MAX):
                return False
            self._reacted, self._waits_for_an_event = True, False
        if self._waits_for_an_event:
            # Another process may have succeeded with the event, or set it aside.
            state = await self._database.look(lambda tx: store.state_of(tx, name))
            self._waits_for_an_event = state.failures > 0
        return not self._waits_for_an_event

    async def _take_turn(self, limit: int) -> int:
        """React to the next events; returns to how many, 0 when it is another process's turn or one failed."""
        attempt = _Attempt(self._reactor, limit)
        try:
            count = await self._database.act(attempt.react)
        except Exception as trouble:
            event, turn = attempt.in_hand, attempt.turn
            if event is None or turn is None:
                raise
            if attempt.is_alone:
                await self._yield_turn(event, turn, trouble)
                return 0
            return await self._take_turn(1)
        reactions_total.labels(self._reactor.name).inc(count)
        return count

    async def _yield_turn(self, event: StoredEvent, turn: store.Turn, trouble: Exception) -> None:
        name = self._reactor.name
        pause = self._retry_policy.pause_after(turn.failures + 1)
        reactions_failed_total.labels(name).inc()
        self._health.failed(self._job, trouble, event_type=event.event_type, seq=event.sequence)
        self._waits_for_an_event = True
        if pause is not None:
            await self._database.act(lambda tx: store.note_failure(tx, name, turn, pause))
            return
        await self._database.act(lambda tx: store.set_aside(tx, name, turn, event, error_text(trouble)))
        reactions_set_aside_total.labels(name).inc()
        _log.error(
            "event set aside",
            reactor=name,
            event_type=event.event_type,
            seq=event.sequence,
            exc_info=trouble,
        )


class _Attempt:
    """One transaction of a reactor; `in_hand` is the event that it has come to."""

    def __init__(self, reactor: Reactor, limit: int) -> None:
        self.turn: store.Turn | None = None
        self.in_hand: StoredEvent | None = None
        self._reactor = reactor
        self._limit = limit

    @property
    def is_alone(self) -> bool:
        """Whether no other event could have failed in its stead."""
        return self._limit == 1

    async def react(self, tx: Tx) -> int:
        self.in_hand = None
        self.turn = turn = await store.take_turn(tx, self._reactor.name)
        if turn is None:
            return 0
        if turn.failures:
            self._limit = 1
        events = await store.events_after(tx, turn.place, self._reactor.type_names, self._limit)
        for event in events:
            self.in_hand = event
            await self._reactor.react(tx, event)
        if self.in_hand is not None:
            await store.advance(tx, self._reactor.name, self.in_hand)
        return len(events)
