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
from hansa.foundation.plumbing.metrics import (
    reactions_failed_total,
    reactions_set_aside_total,
    reactions_total,
)
from hansa.foundation.words.errors import Unavailable
from hansa.rooms.journal.listening import listening
from hansa.rooms.journal.store import StoredEvent

from . import store
from .reactor import Reactor
from .rules import Patience, told_of

BATCH_MAX = 50
# Under load the journal notifies without a pause, mostly of what no reactor asks for.
PACE_SECONDS = 0.1
LOOK_AGAIN_MIN_SECONDS = 0.02
LOOK_AGAIN_MAX_SECONDS = 1.0
RECONNECT_SECONDS = 1.0

_log = structlog.get_logger()


async def settle_reactors(tx: Tx, reactors: Sequence[Reactor]) -> None:
    """Give each reactor its place in the journal where it has none, whether or not reactors run."""
    await store.settle(
        tx, [reactor.name for reactor in reactors], [reactor.from_the_start for reactor in reactors]
    )


async def run_reactors(
    database: Database, reactors: Sequence[Reactor], patience: Patience | None = None
) -> None:
    """Run until cancelled; they must have been settled."""
    runs = [_Run(database, reactor, patience or Patience()) for reactor in reactors]
    async with asyncio.TaskGroup() as group:
        group.create_task(_wake(database.dsn, [run.wake for run in runs]))
        for run in runs:
            group.create_task(run.keep_reacting())


async def _wake(dsn: str, wakes: Sequence[asyncio.Event]) -> None:
    while True:
        ended = asyncio.Event()
        try:
            async with listening(dsn, *wakes) as connection:
                connection.add_termination_listener(lambda _, ended=ended: ended.set())
                await ended.wait()
        except (*OUT_OF_REACH, asyncpg.PostgresError) as trouble:
            _log.warning("reactors are not told of events", reason=type(trouble).__name__)
        except Exception:  # noqa: BLE001
            # Without being told, reactors look by themselves.
            _log.exception("reactors are not told of events")
        await asyncio.sleep(RECONNECT_SECONDS)


class _Run:
    """One reactor in this process."""

    def __init__(self, database: Database, reactor: Reactor, patience: Patience) -> None:
        self.wake = asyncio.Event()
        self._database = database
        self._reactor = reactor
        self._patience = patience

    async def keep_reacting(self) -> None:
        look_again = LOOK_AGAIN_MIN_SECONDS
        while True:
            self.wake.clear()
            try:
                if await self._catch_up():
                    look_again = LOOK_AGAIN_MIN_SECONDS
            except Unavailable as trouble:
                _log.warning("reactor waits", reactor=self._reactor.name, reason=trouble.detail)
            except Exception:  # noqa: BLE001
                # A reactor fails alone, and its next turn comes.
                _log.exception("reactor failed", reactor=self._reactor.name)
            await asyncio.sleep(PACE_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(look_again):
                    await self.wake.wait()
                    look_again = LOOK_AGAIN_MIN_SECONDS
                    continue
            look_again = min(2 * look_again, LOOK_AGAIN_MAX_SECONDS)

    async def _catch_up(self) -> bool:
        """React to all that is due; returns whether anything was."""
        name, types = self._reactor.name, self._reactor.type_names
        reacted = False
        while await self._database.look(lambda tx: store.is_due(tx, name, types)):
            if not await self._take_turn(BATCH_MAX):
                break
            reacted = True
        return reacted

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
                await self._give_way(event, turn, trouble)
                return 0
            return await self._take_turn(1)
        reactions_total.labels(self._reactor.name).inc(count)
        return count

    async def _give_way(self, event: StoredEvent, turn: store.Turn, trouble: Exception) -> None:
        name = self._reactor.name
        pause = self._patience.pause_after(turn.failures + 1)
        reactions_failed_total.labels(name).inc()
        _log.warning(
            "reaction failed",
            reactor=name,
            event_type=event.event_type,
            seq=event.sequence,
            failures=turn.failures + 1,
            reason=told_of(trouble),
        )
        if pause is not None:
            await self._database.act(lambda tx: store.note_failure(tx, name, turn, pause))
            return
        await self._database.act(lambda tx: store.set_aside(tx, name, turn, event, told_of(trouble)))
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
