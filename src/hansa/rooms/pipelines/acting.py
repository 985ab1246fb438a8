"""Acts on runs: cancel, resume, and the decisions of the owner on steps."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.money import Minor
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, commerce

from . import machine, store
from . import run_store as runs
from .advancing import note_start, wake, write
from .errors import BudgetTooLow, PipelineUnknown, RunOfAnother, RunPastDeadline, RunStateRefuses, RunUnknown
from .machine import OutOfPlace, RunState
from .records import Run, RunPlace
from .starting import require_place


async def cancel(tx: Tx, caller: Developer | Agent, place: RunPlace) -> Run:
    """Cancel a run: nothing more begins, and it ends once no token is open.

    Raises: AgentUnknown, OrgRoleRequired, PipelineUnknown, RunUnknown, RunStateRefuses.
    """
    await agents.require_caller(tx, caller, place.did, Right.OPERATE)
    run = await _locked(tx, place)
    try:
        state = machine.cancel(run.definition, run.state)
    except OutOfPlace:
        raise _refused(run) from None
    return await _changed(tx, run, state)


async def resume(tx: Tx, caller: Developer | Agent, place: RunPlace, budget: Minor | None) -> Run:
    """Let a run that failed or lacked units go on, with this budget; done steps stay.

    Raises: AgentUnknown, OrgRoleRequired, PipelineUnknown, RunUnknown, RunStateRefuses, RunPastDeadline, RunOfAnother,
    BudgetTooLow, PipelineQuota.
    """
    await agents.require_caller(tx, caller, place.did, Right.OPERATE)
    await store.lock_agent(tx, place.did)
    # A run of a pipeline that is deleted meanwhile would go on where nobody reads or cancels it.
    await store.lock(tx, place.did, place.pipeline_id)
    # A payment locks the budget before the run as well.
    known = await _known(tx, place)
    if isinstance(caller, Agent) and caller.grant_id not in {None, known.row.grant_id}:
        raise RunOfAnother
    if budget is not None and not await commerce.raise_budget(tx, known.row.id, budget):
        raise BudgetTooLow(field="budget")
    run = await _locked(tx, place)
    if run.row.is_past:
        raise RunPastDeadline
    if run.row.has_ended:
        await require_place(tx, place.did)
    try:
        state = machine.resume(run.definition, run.state)
    except OutOfPlace:
        raise _refused(run) from None
    resumed = await _changed(tx, run, state)
    await note_start(tx, resumed, is_resumed=True)
    return resumed


async def decide(
    tx: Tx,
    developer: Developer,
    place: RunPlace,
    step_id: str,
    *,
    is_approved: bool,
    in_browser: bool = False,
) -> Run:
    """Approve or deny a step: one that waits goes on or fails, an unknown one gets one more attempt or fails.

    A step that waits for a spend approval is decided by deciding that. Of a run under a grant the owner decides in the browser alone.

    Raises: AgentUnknown, OrgRoleRequired, PipelineUnknown, RunUnknown, RunStateRefuses, ApprovalDecided, ApprovalInBrowser.
    """
    await agents.require_caller(tx, developer, place.did, Right.MANAGE)
    known = await _known(tx, place)
    if step_id not in {step.id for step in known.state.steps}:
        raise RunUnknown
    if known.row.grant_id is not None and not in_browser:
        raise agents.ApprovalInBrowser
    # A payment locks the approval before the run as well.
    if (asked := known.state.step(step_id).approval_id) is not None:
        await agents.decide_approval(
            tx, developer, place.did, UUID(asked), is_approved=is_approved, in_browser=in_browser
        )
    run = await _locked(tx, place)
    act = machine.approve if is_approved else machine.deny
    try:
        state = act(run.definition, run.state, step_id)
    except OutOfPlace:
        status = run.state.step(step_id).status
        raise RunStateRefuses(
            f"The step is {status}, and the run {run.state.status}; there is nothing to decide.",
            context={"status": run.state.status, "step": status},
        ) from None
    return await _changed(tx, run, state)


async def _known(tx: Tx, place: RunPlace) -> Run:
    """The run as it stands. Raises: PipelineUnknown, RunUnknown."""
    if await store.find(tx, place.did, place.pipeline_id) is None:
        raise PipelineUnknown
    run = await runs.find(tx, place.run_id)
    if run is None or run.row.pipeline_id != place.pipeline_id:
        raise RunUnknown
    return run


async def _locked(tx: Tx, place: RunPlace) -> Run:
    """The run, locked until the transaction ends. Raises: PipelineUnknown, RunUnknown."""
    await _known(tx, place)
    run = await runs.lock(tx, place.run_id)
    assert run is not None, "runs are not deleted"
    return run


async def _changed(tx: Tx, run: Run, state: RunState) -> Run:
    await write(tx, run, state)
    await wake(tx, run.row.id)
    changed = await runs.find(tx, run.row.id)
    assert changed is not None
    return changed


def _refused(run: Run) -> RunStateRefuses:
    return RunStateRefuses(f"The run is {run.state.status}.", context={"status": run.state.status})
