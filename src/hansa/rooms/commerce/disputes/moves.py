"""One move of a dispute: its new state, its event and the job of its next date, in one commit."""

from hansa.foundation.events import Event
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal
from hansa.rooms.commerce import contracts

from . import recorded, rules, store
from .dispute import Dispute
from .errors import DisputeUnknown, WrongState

DEADLINES = "commerce: dispute deadlines"


async def take(tx: Tx, dispute_id: int) -> tuple[Dispute, contracts.Contract | None]:
    """Lock a dispute, after its contract if it has one. Raises: DisputeUnknown."""
    found = await store.find(tx, dispute_id)
    if found is None:
        raise DisputeUnknown
    contract = None if found.contract_id is None else await contracts.take(tx, found.contract_id)
    dispute = await store.lock(tx, dispute_id)
    assert dispute is not None
    return dispute, contract


async def move(tx: Tx, before: Dispute, after: Dispute, *events: Event) -> Dispute:
    """Write a move. Raises: WrongState when the dispute is not in the state that it is moved from."""
    if not await store.save(tx, before, after):
        raise WrongState("The dispute has changed meanwhile.")
    await journal.append(tx, *events)
    if after.due_at is not None:
        await schedule(tx, after)
    return after


async def begin_voting(tx: Tx, dispute: Dispute) -> Dispute:
    """Open voting."""
    after = rules.voting(dispute)
    return await move(tx, dispute, after, recorded.voting_opened(after))


async def schedule(tx: Tx, dispute: Dispute) -> None:
    """Let a job run when the date that applies has come."""
    assert dispute.due_at is not None
    key = f"{dispute.id} {dispute.status}"
    await enqueue(tx, DEADLINES, key, {"dispute_id": dispute.id}, dispute.due_at)
