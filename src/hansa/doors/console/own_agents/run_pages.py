"""Runs of pipelines of an own agent: the steps, drawn, with their attempts and costs, and the acts of the owner on them."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents, pipelines

from .acting import act_as
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent
from .pipeline_graph import Node, drawing_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "/account/agents/{did}/pipelines/{pipeline_id}/runs/{run_id}"

PipelineId = Annotated[UUID, Path()]
RunId = Annotated[UUID, Path()]
StepId = Annotated[str, Path(max_length=40)]


@router.get(PAGE, dependencies=READS)
async def show_run(
    did: MyDid, pipeline_id: PipelineId, run_id: RunId, person: SignedInPerson, request: Request, *, db: Db
) -> HTMLResponse:
    """A run of a pipeline of an own agent."""
    return await _page(request, person, db, pipelines.RunPlace(did, pipeline_id, run_id))


@router.post(f"{PAGE}/cancel", dependencies=ACTS)
async def cancel(
    did: MyDid, pipeline_id: PipelineId, run_id: RunId, sender: Act, request: Request, *, db: Db
) -> Response:
    """Cancel a run."""
    return await _act(request, sender, db, pipelines.RunPlace(did, pipeline_id, run_id), act="cancel")


@router.post(f"{PAGE}/resume", dependencies=ACTS)
async def resume(
    did: MyDid, pipeline_id: PipelineId, run_id: RunId, sender: Act, request: Request, *, db: Db
) -> Response:
    """Let a run go on."""
    budget = with_decimal_point(sender.form.value("budget").strip())
    body = {"budget": budget} if budget else {}
    place = pipelines.RunPlace(did, pipeline_id, run_id)
    return await _act(request, sender, db, place, act="resume", body=body)


@router.post(f"{PAGE}/steps/{{step_id}}/approve", dependencies=ACTS)
async def approve(
    did: MyDid,
    pipeline_id: PipelineId,
    run_id: RunId,
    step_id: StepId,
    sender: Act,
    *,
    request: Request,
    db: Db,
) -> Response:
    """Let a step go on, as its owner in the browser."""
    place = pipelines.RunPlace(did, pipeline_id, run_id)
    return await _decide(request, sender, db, place, step_id, is_approved=True)


@router.post(f"{PAGE}/steps/{{step_id}}/deny", dependencies=ACTS)
async def deny(
    did: MyDid,
    pipeline_id: PipelineId,
    run_id: RunId,
    step_id: StepId,
    sender: Act,
    *,
    request: Request,
    db: Db,
) -> Response:
    """Let a step fail, as its owner in the browser."""
    place = pipelines.RunPlace(did, pipeline_id, run_id)
    return await _decide(request, sender, db, place, step_id, is_approved=False)


async def _act(
    request: Request,
    sender: Acting,
    db: Database,
    place: pipelines.RunPlace,
    *,
    act: str,
    body: dict[str, str] | None = None,
) -> Response:
    await own_agent(db, sender.person, place.did)
    path = f"/agents/{place.did}/pipelines/{place.pipeline_id}/runs/{place.run_id}/{act}"
    answer = await act_as(request, sender, place.did, path, body)
    if answer.is_refused:
        form = answer.on(sender.form)
        return await _page(request, sender.person, db, place, form=form, status=answer.status)
    return see_other(_address(place, act))


async def _decide(
    request: Request,
    sender: Acting,
    db: Database,
    place: pipelines.RunPlace,
    step_id: str,
    *,
    is_approved: bool,
) -> Response:
    developer = sender.person.developer
    try:
        await db.transaction(
            lambda tx: pipelines.decide_step(
                tx, developer, place, step_id, is_approved=is_approved, in_browser=True
            )
        )
    except (pipelines.RunStateRefuses, agents.ApprovalDecided) as refusal:
        form = _refused(sender.form, refusal)
        return await _page(request, sender.person, db, place, form=form, status=refusal.status)
    return see_other(_address(place, "approve" if is_approved else "deny"))


def _refused(form: SentForm, refusal: Refused) -> SentForm:
    return SentForm(form.fields, {}, refusal.detail)


def _address(place: pipelines.RunPlace, done: str) -> str:
    return address_of(place.did, f"pipelines/{place.pipeline_id}/runs/{place.run_id}", done)


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    place: pipelines.RunPlace,
    *,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    runtime = runtime_of(request)
    agent, shown = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, place.did),
            lambda tx: pipelines.read_run(tx, person.developer, place, runtime.seal),
        )
    )
    run, definition = pipelines.RunOut.shown(shown), shown.run.definition
    steps = {step.id: step for step in run.steps}
    nodes = [
        Node(step.id, step.needs, steps[step.id].status.replace("_", " "), steps[step.id].status)
        for step in definition.steps
    ]
    return agent_page(
        request,
        "own_agents/run.html",
        person,
        agent,
        form,
        status=status,
        run=run,
        name=definition.name,
        drawing=drawing_of(nodes, f"Steps of {definition.name}"),
        may_cancel=run.status not in pipelines.ENDED,
        may_resume=run.status in pipelines.RESUMABLE,
        undecided=pipelines.UNDECIDED,
        is_under_way=run.status in {"queued", "running"},
        currency=runtime.settings.settlement_currency,
    )
