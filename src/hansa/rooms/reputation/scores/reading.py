"""Read reputation: of one agent, and all that the scores of an epoch were computed from."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents

from . import store
from .records import ExportCursor, ExportPage, GradeChange, RecordedSignal, Reputation, TrackRecord

GRADE_CHANGES_SHOWN = 20


async def reputation_of(tx: Tx, did: str) -> Reputation:
    """The score of an agent of this registry, in one statement. Raises: AgentUnknown."""
    found = await store.reputation_of(tx, did)
    if found is None:
        raise agents.AgentUnknown
    return found


async def track_record_of(tx: Tx, did: str) -> TrackRecord:
    """The track record of an agent of this registry, in one statement. Raises: AgentUnknown."""
    found = await store.track_record(tx, did)
    if found is None:
        raise agents.AgentUnknown
    return found


async def recorded_after(tx: Tx, signal: int, most: int) -> list[RecordedSignal]:
    """The signals after this one that track records count, in the order of their events; the same ones at each reading."""
    return await store.recorded_after(tx, signal, most)


async def grade_history_of(tx: Tx, did: str) -> list[GradeChange]:
    """The newest changes of an agent's grade, the newest first."""
    return await store.grade_changes(tx, did, GRADE_CHANGES_SHOWN)


async def export(tx: Tx, after: ExportCursor, limit: int) -> ExportPage:
    """A page of the signals and the scores of the newest epoch; an empty one before the first."""
    epoch = await store.newest_epoch(tx)
    if epoch is None:
        return ExportPage(None, [], {}, None)
    signals = await store.exported_signals(tx, epoch, after.signal, limit)
    scores = await store.exported_scores(tx, epoch, after.agent, limit)
    is_last = len(signals) < limit and len(scores) < limit
    following = ExportCursor(
        signals[-1].id if signals else after.signal, next(reversed(scores)) if scores else after.agent
    )
    return ExportPage(epoch, signals, scores, None if is_last else following)
