"""Effects of deadlines of proposals: carried out by a job when a deadline has come, in one transaction under the lock of the proposal."""

from typing import Literal, TypeAlias

from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .tallying import close_vote

DEADLINES = "governance: deadlines"
Deadline: TypeAlias = Literal["end", "extended end", "lapse", "effect"]


def key_of(proposal_id: int, deadline: Deadline) -> str:
    """The key of the job of a deadline."""
    return f"{proposal_id} {deadline}"


async def meet_deadline(tx: Tx, proposal_id: int) -> None:
    """Carry out the deadline of a proposal that has come; without one nothing is done."""
    proposal = (await store.lock(tx, [proposal_id]))[proposal_id]
    now = await clock.now(tx)
    if proposal.status == "OPEN" and proposal.ends_at <= now:
        await close_vote(tx, proposal)


async def _run(tx: Tx, _: Runtime, job: Job) -> None:
    await meet_deadline(tx, job.payload["proposal_id"])


MEET_DEADLINES = TransactionalKind(DEADLINES, _run)
