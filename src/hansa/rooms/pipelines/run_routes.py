"""Runs of pipelines over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    Agent,
    Developer,
    agent_holding,
    developer_acting,
    developer_or_agent_holding,
)
from hansa.foundation.plumbing.web.idempotency import IdempotencyKey, once, repeatable
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import OrgRoleRequired, TooManyRequests
from hansa.foundation.values.money import parse_positive
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import agents

from . import acting, reading
from .attempting import PERMISSION
from .definition import SLUG
from .errors import (
    BudgetTooLow,
    PipelineQuota,
    PipelineUnknown,
    RunOfAnother,
    RunPastDeadline,
    RunStateRefuses,
    RunUnknown,
)
from .records import RunPlace
from .routes import (
    PAGE_DEFAULT,
    READS,
    WRITES,
    Did,
    Limit,
    Offset,
    PipelineId,
    Reader,
    Writer,
)
from .run_schemas import RunIn, RunOut, RunResumeIn, RunStartedOut, RunSummaryOut
from .sealing import OutputsUnreadable
from .starting import start

ACCEPTED = 202
runs_router = APIRouter(
    prefix="/agents/{did}/pipelines/{pipeline_id}/runs", tags=["pipelines"], route_class=GuardedRoute
)

RunId = Annotated[UUID, Path()]
StepId = Annotated[str, Path(pattern=SLUG)]
PayingAgent = Annotated[Agent, agent_holding(PERMISSION)]
Resumer = Annotated[Developer | Agent, developer_or_agent_holding("agents:secrets", is_act=True)]
Approver = Annotated[Developer, developer_acting("agents:secrets")]
Owner = Annotated[Developer, developer_acting("agents:write")]
_ACTS = (
    *READS,
    OrgRoleRequired,
    TooManyRequests,
    PipelineUnknown,
    RunUnknown,
    RunStateRefuses,
    OutputsUnreadable,
)


@runs_router.post(
    "",
    status_code=ACCEPTED,
    response_model=RunStartedOut,
    responses=problems(*WRITES, PipelineUnknown, PipelineQuota),
)
async def start_run(
    did: Did,
    pipeline_id: PipelineId,
    body: RunIn,
    agent: PayingAgent,
    *,
    request: Request,
    db: Db,
    seal: Sealing,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Start a run of an own pipeline. An agent has at most 10 runs at once, and starts 200 a day."""
    await writes.admit(agent.did)
    budget = None if body.budget is None else parse_positive(body.budget)

    async def started(tx: Tx) -> RunStartedOut:
        run = await start(tx, agent, did, pipeline_id, seal, given=body.input, budget=budget)
        return RunStartedOut(run_id=run.row.id, status=run.state.status)

    answer = await once(db, repeatable(agent, request, key, body), started)
    answer.status_code = ACCEPTED
    return answer


@runs_router.get("", responses=problems(*READS, PipelineUnknown))
async def list_runs(
    did: Did,
    pipeline_id: PipelineId,
    caller: Reader,
    db: Db,
    *,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[RunSummaryOut]:
    """The runs of a pipeline, newest first."""
    found, total = await db.read(
        lambda tx: reading.page_of_runs(tx, caller, did, pipeline_id, limit=limit, offset=offset)
    )
    return Page(
        items=[RunSummaryOut.of(run, budget) for run, budget in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@runs_router.get("/{run_id}", responses=problems(*READS, PipelineUnknown, RunUnknown, OutputsUnreadable))
async def read_run(
    did: Did, pipeline_id: PipelineId, run_id: RunId, caller: Reader, *, db: Db, seal: Sealing
) -> RunOut:
    """A run with its steps, their attempts and outputs, and what it has spent."""
    return RunOut.shown(
        await db.read(lambda tx: reading.read_run(tx, caller, RunPlace(did, pipeline_id, run_id), seal))
    )


@runs_router.post("/{run_id}/cancel", responses=problems(*_ACTS))
async def cancel_run(
    did: Did,
    pipeline_id: PipelineId,
    run_id: RunId,
    caller: Writer,
    *,
    db: Db,
    seal: Sealing,
    writes: WriteLimit,
) -> RunOut:
    """Cancel a run: nothing more begins, and it ends once its open payments have ended."""
    await writes.admit(caller.sender)

    async def cancelled(tx: Tx) -> RunOut:
        run = await acting.cancel(tx, caller, RunPlace(did, pipeline_id, run_id))
        return RunOut.shown(await reading.shown(tx, run, seal))

    return await db.transaction(cancelled)


@runs_router.post(
    "/{run_id}/resume",
    response_model=RunOut,
    responses=problems(
        *WRITES,
        PipelineUnknown,
        RunUnknown,
        RunStateRefuses,
        RunPastDeadline,
        RunOfAnother,
        BudgetTooLow,
        PipelineQuota,
        OutputsUnreadable,
    ),
)
async def resume_run(
    did: Did,
    pipeline_id: PipelineId,
    run_id: RunId,
    body: RunResumeIn,
    caller: Resumer,
    *,
    request: Request,
    db: Db,
    seal: Sealing,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Let a run go on that failed, spent its budget or lacked units; steps that are done stay."""
    await writes.admit(caller.sender)
    budget = None if body.budget is None else parse_positive(body.budget)

    async def resumed(tx: Tx) -> RunOut:
        run = await acting.resume(tx, caller, RunPlace(did, pipeline_id, run_id), budget)
        return RunOut.shown(await reading.shown(tx, run, seal))

    return await once(db, repeatable(caller, request, key, body), resumed)


_DECISIONS = problems(*_ACTS, agents.ApprovalInBrowser, agents.ApprovalDecided, agents.ApprovalUnknown)


@runs_router.post("/{run_id}/steps/{step_id}/approve", responses=_DECISIONS)
async def approve_step(
    did: Did,
    pipeline_id: PipelineId,
    run_id: RunId,
    step_id: StepId,
    developer: Approver,
    *,
    db: Db,
    seal: Sealing,
) -> RunOut:
    """Let a step go on that waits; a step with an unknown end gets one more attempt, which may pay again."""

    async def approved(tx: Tx) -> RunOut:
        run = await acting.decide(
            tx, developer, RunPlace(did, pipeline_id, run_id), step_id, is_approved=True
        )
        return RunOut.shown(await reading.shown(tx, run, seal))

    return await db.transaction(approved)


@runs_router.post("/{run_id}/steps/{step_id}/deny", responses=_DECISIONS)
async def deny_step(
    did: Did,
    pipeline_id: PipelineId,
    run_id: RunId,
    step_id: StepId,
    developer: Owner,
    *,
    db: Db,
    seal: Sealing,
) -> RunOut:
    """Let a step fail that waits, or whose end is unknown."""

    async def denied(tx: Tx) -> RunOut:
        run = await acting.decide(
            tx, developer, RunPlace(did, pipeline_id, run_id), step_id, is_approved=False
        )
        return RunOut.shown(await reading.shown(tx, run, seal))

    return await db.transaction(denied)
