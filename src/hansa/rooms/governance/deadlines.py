"""Effects of deadlines of proposals: carried out by a job when a deadline has come, in one transaction under the lock of the proposal."""

from datetime import datetime

from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from . import deciding, rules, store
from .records import DEADLINES, Proposal
from .tallying import close_vote


async def meet_deadline(tx: Tx, proposal_id: int, settings: Settings) -> None:
    """Carry out the deadline of a proposal that has come; without one nothing is done."""
    proposal = (await store.lock(tx, [proposal_id]))[proposal_id]
    now = await clock.now(tx)
    if proposal.status == "OPEN" and proposal.ends_at <= now:
        await close_vote(tx, proposal, settings)
    elif _has_lapsed(proposal, now):
        await deciding.end(tx, proposal, "AWAITING", "LAPSED")
    elif (
        proposal.execution == "QUEUED" and proposal.effective_at is not None and proposal.effective_at <= now
    ):
        await deciding.take_effect(tx, proposal)


def _has_lapsed(proposal: Proposal, now: datetime) -> bool:
    return (
        proposal.execution == "AWAITING"
        and proposal.ended_at is not None
        and proposal.ended_at + rules.LAPSE <= now
    )


async def _run(tx: Tx, runtime: Runtime, job: Job) -> None:
    await meet_deadline(tx, job.payload["proposal_id"], runtime.settings)


MEET_DEADLINES = TransactionalKind(DEADLINES, _run)
