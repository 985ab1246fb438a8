"""Record what happened: events in the journal, each a leaf of the log by the canonical JSON of its members."""

import re
from collections.abc import Sequence

import msgspec

from hansa.foundation.events import GovernanceEvent, VoteCast
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_objects
from hansa.rooms import journal

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


async def record(tx: Tx, *events: GovernanceEvent) -> None:
    """Append the events of proposals. Their leaves have the ids of the proposals."""
    await _record(tx, events, [event.proposal_id for event in events])


async def record_votes(tx: Tx, events: Sequence[VoteCast], vote_ids: Sequence[int]) -> None:
    """Append the events of votes. Their leaves have the ids of the votes."""
    await _record(tx, events, vote_ids)


async def _record(tx: Tx, events: Sequence[GovernanceEvent], ids: Sequence[int]) -> None:
    await journal.append(tx, *events)
    leaves = [
        (_WORD.sub("_", type(event).__name__).lower(), str(number), msgspec.to_builtins(event))
        for event, number in zip(events, ids, strict=True)
    ]
    await record_objects(tx, leaves)
