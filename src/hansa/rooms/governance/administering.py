"""Decisions of administrators: apply or decline a passed change, veto a proposal, give a parameter back to the settings. Each is public."""

from uuid import uuid4

from hansa.foundation.events import PolicyReset
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer

from . import deciding, rules, store
from .errors import ProposalUnknown
from .recording import record, record_reset
from .records import Proposal
from .tallying import tallied


async def apply(
    tx: Tx, administrator: Developer, proposal_id: int, reason: str, settings: Settings
) -> Proposal:
    """Let a passed change take effect after the delay. One that is out of date becomes STALE.

    Raises: ProposalUnknown, WrongExecution, AreasWithheld.
    """
    proposal = await _locked(tx, proposal_id)
    rules.require_execution(proposal, "AWAITING")
    await _recorded(tx, administrator, "apply", proposal_id, reason)
    return await deciding.schedule(tx, proposal, settings, by=_name_of(administrator), reason=reason)


async def decline(tx: Tx, administrator: Developer, proposal_id: int, reason: str) -> Proposal:
    """End a passed change that waits for a decision.

    Raises: ProposalUnknown, WrongExecution, AreasWithheld.
    """
    proposal = await _locked(tx, proposal_id)
    rules.require_execution(proposal, "AWAITING")
    await _recorded(tx, administrator, "decline", proposal_id, reason)
    by = _name_of(administrator)
    return await deciding.end(tx, proposal, "AWAITING", "DECLINED", by=by, reason=reason)


async def veto(tx: Tx, administrator: Developer, proposal_id: int, reason: str) -> Proposal:
    """Cancel an open proposal, or withdraw a change that is scheduled.

    Raises: ProposalUnknown, WrongExecution, ParameterUnderWay, AreasWithheld.
    """
    proposal = await _locked(tx, proposal_id)
    if proposal.status != "OPEN":
        rules.require_execution(proposal, "QUEUED")
    await _recorded(tx, administrator, "veto", proposal_id, reason)
    by = _name_of(administrator)
    if proposal.status == "OPEN":
        cancelled = await store.end(tx, proposal_id, "CANCELLED", by=by, reason=reason)
        assert cancelled is not None, "a locked proposal is open as it was judged"
        await record(tx, tallied(cancelled), deciding.vetoed(cancelled, "CANCELLED", by=by, reason=reason))
        return cancelled
    await parameters.unschedule(tx, deciding.name_of(proposal))
    return await deciding.end(tx, proposal, "QUEUED", "VETOED", by=by, reason=reason)


async def reset(
    tx: Tx, administrator: Developer, name: str, reason: str, settings: Settings
) -> parameters.Parameter:
    """Give a parameter back to the environment, a minute from now. Scheduled changes of it become STALE.

    Raises: ParameterUnknown, ParameterNotGoverned, ParameterUnderWay, ParameterCombinationRefused, AreasWithheld.
    """
    await record_admin_act(
        tx, administrator, act="governance.reset", subject=f"parameter:{name}", reason=reason
    )
    by = _name_of(administrator)
    for proposal in await store.lock_queued_with(tx, name):
        await parameters.unschedule(tx, deciding.name_of(proposal))
        await deciding.end(tx, proposal, "QUEUED", "STALE", by=by, reason=reason)
    decision = f"reset:{uuid4()}"
    effective_at = await parameters.reset(tx, settings, name, decision)
    found = next(one for one in await parameters.current(tx, settings) if one.name == name)
    assert found.scheduled is not None, "the reset of a setting is pending"
    event = PolicyReset(
        name,
        before=found.value,
        after=found.scheduled.value,
        by=by,
        reason=reason,
        effective_at=effective_at.isoformat(),
    )
    await record_reset(tx, event, decision)
    return found


async def _locked(tx: Tx, proposal_id: int) -> Proposal:
    proposal = (await store.lock(tx, [proposal_id])).get(proposal_id)
    if proposal is None:
        raise ProposalUnknown
    return proposal


async def _recorded(tx: Tx, administrator: Developer, act: str, proposal_id: int, reason: str) -> None:
    await record_admin_act(
        tx, administrator, act=f"governance.{act}", subject=f"proposal:{proposal_id}", reason=reason
    )


def _name_of(administrator: Developer) -> str:
    return f"developer:{administrator.id}"
