"""`hansa replay`: a period of the journal carried out once more with other parameters, on a scratch database."""

from collections.abc import Mapping

import msgspec

from hansa.doors.startup import joined_database, require_own_database
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.settings import Settings, Value
from hansa.foundation.plumbing.storage import backup
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa.rooms import commerce, exchange, journal, ledger, reputation

from .barring import bars_of
from .parameters import Course
from .report import Report
from .scratch import ScratchDatabases, scratch_databases

DEPOSITS = frozenset({reputation.BOND_HOLD, exchange.OWNER_KIND, commerce.DEPOSIT_HOLD})
"""Kinds of holds that are deposits."""


class NotReplayable(Conflict):
    """The recorded rules do not lead to what is recorded."""

    sentence = "The period cannot be replayed."


class ReplayRequest(msgspec.Struct, frozen=True):
    """Period from one sequence number to another, None: to the newest, and values of parameters by their names."""

    first: int
    last: int | None = None
    changes: Mapping[str, Value] = {}


async def replay(settings: Settings, request: ReplayRequest) -> Report:
    """Replay a period of the registry with other parameters.

    Raises: SequenceUnknown, EventsArchived, ParameterCombinationRefused, NotReplayable, EmbeddedPostgresFailed, and the errors of
    opening the registry.
    """
    async with joined_database(settings) as dsn:
        await require_own_database(settings, dsn)
        async with (
            backup.connect(dsn) as registry,
            registry.transaction(isolation="repeatable_read", readonly=True),
        ):
            # Judged before a server is started for it.
            await journal.read_period(registry, request.first, request.last)
            async with scratch_databases(settings) as databases:
                return await replay_on(registry, databases, settings, request)


async def replay_on(
    registry: Tx, databases: ScratchDatabases, settings: Settings, request: ReplayRequest
) -> Report:
    """Replay a period of the registry whose snapshot is given. Raises: the errors of `replay` that the journal and the values cause."""
    period = await journal.read_period(registry, request.first, request.last)
    if period.transactions is None:
        return Report.of_nothing(period, request.changes)
    turns, changes = await parameters.turns(registry), request.changes
    recorded, changed = Course(settings, turns, {}), Course(settings, turns, changes)
    book = ledger.Book.of(settings)
    opening = await ledger.replay.read_opening(registry, book, *period.transactions)
    changed.require_fitting(opening.began_at)
    kinds = ledger.replay.Kinds(DEPOSITS)
    try:
        judge = await _run(registry, databases, opening, ledger.replay.Rules(recorded.book_at, kinds))
        ledger.replay.require_faithful(opening, judge)
    except ledger.replay.ReplayUnfaithful as error:
        raise NotReplayable(f"The period cannot be replayed: {error}.") from None
    replayed = judge
    if changes:
        bars = await bars_of(registry, changed, book, period.last_sequence, opening.began_at)
        rules = ledger.replay.Rules(changed.book_at, kinds, bars, frozenset(judge.kept_fees))
        replayed = await _run(registry, databases, opening, rules)
    return Report.of(period, changes, opening, judge, replayed)


async def _run(
    registry: Tx, databases: ScratchDatabases, opening: ledger.replay.Opening, rules: ledger.replay.Rules
) -> ledger.replay.Run:
    moved = ledger.replay.movements(registry, opening.period.begins, opening.period.last)
    async with backup.connect(await databases()) as scratch:
        return await ledger.replay.carry_out(scratch, opening, moved, rules)
