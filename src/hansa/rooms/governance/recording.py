"""Record what happened: events in the journal, each a leaf of the log by the canonical JSON of its members."""

import re
from collections.abc import Sequence

import msgspec

from hansa.foundation.events import GovernanceEvent, PolicyReset, ProposalEvent, VoteCast
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_objects
from hansa.rooms import journal

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


async def record(tx: Tx, *events: ProposalEvent) -> None:
    """Append the events of proposals. Their leaves have the ids of the proposals."""
    await _record(tx, events, [str(event.proposal_id) for event in events])


async def record_votes(tx: Tx, events: Sequence[VoteCast], vote_ids: Sequence[int]) -> None:
    """Append the events of votes. Their leaves have the ids of the votes."""
    await _record(tx, events, [str(vote_id) for vote_id in vote_ids])


async def record_reset(tx: Tx, event: PolicyReset, decision: str) -> None:
    """Append the event of a reset. Its leaf has the name of the decision."""
    await _record(tx, [event], [decision])


async def _record(tx: Tx, events: Sequence[GovernanceEvent], ids: Sequence[str]) -> None:
    await journal.append(tx, *events)
    leaves = [
        (_WORD.sub("_", type(event).__name__).lower(), object_id, msgspec.to_builtins(event))
        for event, object_id in zip(events, ids, strict=True)
    ]
    await record_objects(tx, leaves)
