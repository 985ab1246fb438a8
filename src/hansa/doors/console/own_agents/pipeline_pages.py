"""Pipelines of an own agent: the list, the drawing of each with its runs and the form that starts one, and templates."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.doors.console.api_acts import act_as_person
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, pipelines

from .acting import act_as
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent
from .picker import form_with_suggestions, with_dids
from .pipeline_graph import Node, drawing_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

SHOWN = 20
PAGE = "/account/agents/{did}/pipelines"
PREFIX = "input_"

PipelineId = Annotated[UUID, Path()]
TemplateId = Annotated[str, Path(max_length=40)]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1)]


@router.get(PAGE, dependencies=READS)
async def show_pipelines(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config, *, offset: Offset = 0
) -> HTMLResponse:
    """The pipelines of an own agent, newest first."""
    agent, (found, total) = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: pipelines.page_of_pipelines(tx, person.developer, did, limit=SHOWN, offset=offset),
        )
    )
    return agent_page(
        request,
        "own_agents/pipelines.html",
        person,
        agent,
        pipelines=[pipelines.PipelineOut.of(one) for one in found],
        total=total,
        offset=offset,
        shown_at_most=SHOWN,
        currency=settings.settlement_currency,
    )


@router.get(f"{PAGE}/templates", dependencies=READS)
async def show_templates(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The templates from which a pipeline of the agent is made."""
    agent = await own_agent(db, person, did)
    return agent_page(
        request, "own_agents/pipeline-templates.html", person, agent, templates=pipelines.TEMPLATES
    )


@router.get(f"{PAGE}/templates/{{template_id}}", dependencies=READS)
async def show_template(
    did: MyDid, template_id: TemplateId, person: SignedInPerson, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """The form of a template. Raises: TemplateUnknown."""
    agent, template = await own_agent(db, person, did), pipelines.template_of(template_id)
    return await _template_page(request, person, agent, SentForm(), db, template=template, settings=settings)


@router.post(f"{PAGE}/templates/{{template_id}}", dependencies=ACTS)
async def use_template(
    did: MyDid, template_id: TemplateId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Create a pipeline of the agent from a template. Raises: TemplateUnknown."""
    agent, template = await own_agent(db, sender.person, did), pipelines.template_of(template_id)
    named = [one.name for one in template.parameters if one.kind != "amount"]
    sender = await with_dids(db, sender, *named)
    body = {"agent_did": did, "parameters": _parameters(template, sender.form)}
    path = f"/pipeline-templates/{template.id}/instantiate"
    answer = await act_as_person(request, sender, "POST", path, body)
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _template_page(
            request,
            sender.person,
            agent,
            refused,
            db,
            template=template,
            settings=settings,
            status=answer.status,
        )
    return see_other(address_of(did, f"pipelines/{answer.document['id']}", "created"))


@router.get(f"{PAGE}/{{pipeline_id}}", dependencies=READS)
async def show_pipeline(
    did: MyDid,
    pipeline_id: PipelineId,
    person: SignedInPerson,
    request: Request,
    db: Db,
    *,
    settings: Config,
    offset: Offset = 0,
) -> HTMLResponse:
    """A pipeline, drawn, with its runs."""
    return await _page(
        request, person, db, did, pipeline_id, form=SentForm(), settings=settings, offset=offset
    )


@router.post(f"{PAGE}/{{pipeline_id}}/start", dependencies=ACTS)
async def start(
    did: MyDid, pipeline_id: PipelineId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Start a run as the agent."""
    await own_agent(db, sender.person, did)
    form = sender.form
    budget = with_decimal_point(form.value("budget").strip())
    given = {name.removeprefix(PREFIX): value for name, value in form.fields if name.startswith(PREFIX)}
    body: dict[str, Any] = {"input": given, **({"budget": budget} if budget else {})}
    answer = await act_as(request, sender, did, f"/agents/{did}/pipelines/{pipeline_id}/runs", body)
    if answer.is_refused:
        return await _page(
            request,
            sender.person,
            db,
            did,
            pipeline_id,
            form=answer.on(form),
            settings=settings,
            status=answer.status,
        )
    run_id = answer.document["run_id"]
    return see_other(address_of(did, f"pipelines/{pipeline_id}/runs/{run_id}", "started"))


@router.post(f"{PAGE}/{{pipeline_id}}/delete", dependencies=ACTS)
async def delete(
    did: MyDid, pipeline_id: PipelineId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Delete a pipeline of which every run has ended."""
    await own_agent(db, sender.person, did)
    path = f"/agents/{did}/pipelines/{pipeline_id}"
    answer = await act_as(request, sender, did, path, method="DELETE")
    if answer.is_refused:
        return await _page(
            request,
            sender.person,
            db,
            did,
            pipeline_id,
            form=answer.on(sender.form),
            settings=settings,
            status=answer.status,
        )
    return see_other(address_of(did, "pipelines", "deleted"))


def nodes_of(definition: pipelines.Definition, currency: str) -> list[Node]:
    """The steps to draw, each with its highest price."""
    return [
        Node(step.id, step.needs, f"at most {format_amount(step.max_amount)} {currency}")
        for step in definition.steps
    ]


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    did: str,
    pipeline_id: UUID,
    *,
    form: SentForm,
    settings: Settings,
    offset: int = 0,
    status: int = 200,
) -> HTMLResponse:
    agent, pipeline, (runs, total) = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: pipelines.read_pipeline(tx, person.developer, did, pipeline_id),
            lambda tx: pipelines.page_of_runs(
                tx, person.developer, did, pipeline_id, limit=SHOWN, offset=offset
            ),
        )
    )
    definition, currency = pipeline.definition, settings.settlement_currency
    return agent_page(
        request,
        "own_agents/pipeline.html",
        person,
        agent,
        form,
        status=status,
        pipeline=pipelines.PipelineOut.of(pipeline),
        drawing=drawing_of(nodes_of(definition, currency), f"Steps of {definition.name}"),
        inputs=pipelines.names_of_input(step.content for step in definition.steps),
        runs=[pipelines.RunSummaryOut.of(run, budget) for run, budget in runs],
        total=total,
        offset=offset,
        shown_at_most=SHOWN,
        currency=currency,
        input_prefix=PREFIX,
    )


def _parameters(template: pipelines.Template, form: SentForm) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for one in template.parameters:
        text = form.value(one.name).strip()
        match one.kind:
            case "agents":
                given[one.name] = text.split()
            case "amount":
                given[one.name] = with_decimal_point(text)
            case "agent":
                given[one.name] = text
    return given


async def _template_page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    db: Database,
    *,
    template: pipelines.Template,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    return await form_with_suggestions(
        request,
        person,
        agent,
        form,
        db,
        template="own_agents/pipeline-template.html",
        settings=settings,
        status=status,
        chosen=template,
    )
