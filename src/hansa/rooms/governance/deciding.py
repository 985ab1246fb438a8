"""Execution of passed changes of policy: scheduled by the tally or an administrator, declined, vetoed, or out of date.

The proposal is locked first, the parameters last.
"""

from datetime import timedelta

from hansa.foundation.events import PolicyApplied, PolicyScheduled, PolicyVetoed
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from . import rules, store
from .recording import record
from .records import DEADLINES, Execution, Proposal, key_of

STALE = (parameters.ParameterStale, parameters.ParameterCombinationRefused, parameters.ParameterValueInvalid)
"""Refusals of a change that does not fit the values in force and pending any more."""


async def await_decision(tx: Tx, proposal: Proposal, settings: Settings) -> Proposal:
    """Let a change that has just passed wait for an administrator, or schedule it where votes bind."""
    if settings.governance_execution == "binding":
        return await schedule(tx, proposal, settings, by="tally")
    assert proposal.ended_at is not None
    key, due_at = key_of(proposal.id, "lapse"), proposal.ended_at + rules.LAPSE
    await enqueue(tx, DEADLINES, key, {"proposal_id": proposal.id}, due_at)
    return proposal


async def schedule(
    tx: Tx, proposal: Proposal, settings: Settings, *, by: str, reason: str | None = None
) -> Proposal:
    """Let a locked change take effect after the delay; one that is out of date is STALE for good."""
    diff = parameters.diff_of(proposal.policy_diff or {})
    wanted = await clock.now(tx) + timedelta(hours=settings.governance_delay_hours)
    try:
        # The refused change is undone.
        async with tx.transaction():
            effective_at = await parameters.schedule(tx, settings, diff, wanted, name_of(proposal))
    except STALE:
        return await end(tx, proposal, "AWAITING", "STALE", by=by, reason=reason)
    queued = await store.execute(
        tx, proposal.id, "AWAITING", "QUEUED", effective_at=effective_at, by=by, reason=reason
    )
    assert queued is not None, "a locked change waits as it was judged"
    key = key_of(proposal.id, "effect")
    await enqueue(tx, DEADLINES, key, {"proposal_id": proposal.id}, effective_at)
    await record(
        tx,
        PolicyScheduled(
            proposal.id,
            proposal.proposer_did,
            diff=proposal.policy_diff or {},
            by=by,
            reason=reason,
            effective_at=effective_at.isoformat(),
        ),
    )
    return queued


async def end(
    tx: Tx,
    proposal: Proposal,
    before: Execution,
    after: Execution,
    *,
    by: str | None = None,
    reason: str | None = None,
) -> Proposal:
    """End a locked change that is not carried out."""
    ended = await store.execute(tx, proposal.id, before, after, by=by, reason=reason)
    assert ended is not None, "a locked change waits as it was judged"
    await record(tx, vetoed(ended, after, by=by, reason=reason))
    return ended


async def take_effect(tx: Tx, proposal: Proposal) -> None:
    """Note that a locked change is in force: its moment has come."""
    applied = await store.execute(tx, proposal.id, "QUEUED", "APPLIED")
    assert applied is not None, "a locked change is queued as it was judged"
    await record(
        tx,
        PolicyApplied(
            applied.id,
            applied.proposer_did,
            diff=applied.policy_diff or {},
            by=applied.decided_by,
            reason=applied.reason,
        ),
    )


def vetoed(proposal: Proposal, execution: str, *, by: str | None, reason: str | None) -> PolicyVetoed:
    """The event of a proposal that is not carried out."""
    return PolicyVetoed(
        proposal.id,
        proposal.proposer_did,
        diff=proposal.policy_diff or {},
        by=by,
        reason=reason,
        execution=execution,
    )


def name_of(proposal: Proposal) -> str:
    """The name under which the change of a proposal is scheduled."""
    return f"proposal:{proposal.id}"
