"""Epochs: the scores of all agents, computed once for each UTC day from the signals of earlier days."""

import asyncio
from datetime import date

from hansa.foundation.plumbing.jobs import scheduled, sweep_of
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import catalogue, journal
from hansa_verify import Score, Signal, scores_of

from . import store
from .signals import SIGNALS

CHECKED_EVERY_SECONDS = 20
CARDS_EVERY_SECONDS = 5
CARDS_AT_ONCE = 500


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
        await store.write_scores(tx, epoch, scores)


async def show_scores(tx: Tx) -> None:
    """Let cards show the scores of the newest epoch, some at a time."""
    scores = await store.take_scores_off_card(tx, CARDS_AT_ONCE)
    await catalogue.show_scores(tx, scores)


JOBS = (
    scheduled("reputation: compute scores", CHECKED_EVERY_SECONDS, compute_due_epoch, store.HAS_DUE_EPOCH),
    sweep_of("reputation: scores on cards", CARDS_EVERY_SECONDS, store.HAS_OFF_CARD, show_scores),
)
