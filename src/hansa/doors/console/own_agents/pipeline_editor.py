"""Pipelines of an own agent, written and changed by hand: a row of fields for each step, each refusal beside its field."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.errors import FormRefused
from hansa.doors.console.api_acts import ApiAnswer, act_as_person
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import OrgRoleRequired
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, pipelines

from .pages import ACTS, READS, MyDid, address_of, own_agent
from .picker import form_with_suggestions, with_dids
from .pipeline_form import (
    FAILURES,
    KINDS,
    agent_fields,
    body_of,
    field_of_member,
    form_of,
    rows_of,
    with_one_more_row,
)

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "/account/agents/{did}/pipelines"
NEW, EDIT = f"{PAGE}/new", f"{PAGE}/{{pipeline_id}}/edit"
MORE_STEPS = "more_steps"

PipelineId = Annotated[UUID, Path()]


@router.get(NEW, dependencies=READS)
async def show_new(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The form of a new pipeline."""
    agent = await own_agent(db, person, did)
    return await _page(request, person, agent, SentForm(), db, settings=settings)


@router.post(NEW, dependencies=ACTS)
async def create(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Create a pipeline, or show the form with one more step."""
    return await _save(request, sender, db, did, None, settings=settings)


@router.get(EDIT, dependencies=READS)
async def show_editor(
    did: MyDid, pipeline_id: PipelineId, person: SignedInPerson, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """The form of a stored pipeline. Raises: PipelineUnknown."""
    agent = await own_agent(db, person, did)
    pipeline = await db.read(lambda tx: pipelines.read_pipeline(tx, person.developer, did, pipeline_id))
    form = form_of(pipeline.definition)
    return await _page(request, person, agent, form, db, settings=settings, pipeline_id=pipeline_id)


@router.post(EDIT, dependencies=ACTS)
async def change(
    did: MyDid, pipeline_id: PipelineId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Write a new revision of a pipeline, or show the form with one more step."""
    return await _save(request, sender, db, did, pipeline_id, settings=settings)


async def _save(
    request: Request,
    sender: Acting,
    db: Database,
    did: str,
    pipeline_id: UUID | None,
    *,
    settings: Settings,
) -> Response:
    agent = await own_agent(db, sender.person, did)
    sender = await with_dids(db, sender, *agent_fields(sender.form))
    form = sender.form
    if form.value(MORE_STEPS):
        more = with_one_more_row(form)
        return await _page(
            request, sender.person, agent, more, db, settings=settings, pipeline_id=pipeline_id
        )
    try:
        answer = await _sent(request, sender, did, pipeline_id, body_of(form))
    except FormRefused as refusal:
        refused, status = form.refused(refusal), refusal.status
    else:
        if not answer.is_refused:
            done = "created" if pipeline_id is None else "changed"
            return see_other(address_of(did, f"pipelines/{answer.document['id']}", done))
        refused, status = _refused(form, answer), answer.status
    return await _page(
        request, sender.person, agent, refused, db, settings=settings, pipeline_id=pipeline_id, status=status
    )


async def _sent(
    request: Request, sender: Acting, did: str, pipeline_id: UUID | None, body: dict[str, Any]
) -> ApiAnswer:
    path = f"/agents/{did}/pipelines"
    if pipeline_id is None:
        return await act_as_person(request, sender, "POST", path, body)
    return await act_as_person(request, sender, "PUT", f"{path}/{pipeline_id}", body)


def _refused(form: SentForm, answer: ApiAnswer) -> SentForm:
    path = str(answer.document["error"]["field"] or "")
    return answer.on(form, **{path: field_of_member(form, path)})


async def _page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    db: Database,
    *,
    settings: Settings,
    pipeline_id: UUID | None = None,
    status: int = 200,
) -> HTMLResponse:
    """Raises: OrgRoleRequired."""
    if agent.held_right < Right.OPERATE:
        raise OrgRoleRequired
    return await form_with_suggestions(
        request,
        person,
        agent,
        form,
        db,
        template="own_agents/pipeline-editor.html",
        settings=settings,
        status=status,
        pipeline_id=pipeline_id,
        rows=rows_of(form),
        steps_max=pipelines.STEPS_MAX,
        kinds=KINDS,
        failures=FAILURES,
    )
