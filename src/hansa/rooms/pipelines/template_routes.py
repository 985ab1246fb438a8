"""Templates of pipelines over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, developer_acting
from hansa.foundation.plumbing.web.idempotency import IdempotencyKey, once, repeatable
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests

from . import saving
from .definition import SLUG
from .errors import DefinitionInvalid, PipelineQuota, TemplateUnknown
from .routes import CREATED, WRITES
from .schemas import PipelineOut
from .template_schemas import PipelineTemplateOut, PipelineTemplatesOut, TemplateUseIn
from .templates import TEMPLATES, instantiated, template_of

templates_router = APIRouter(prefix="/pipeline-templates", tags=["pipelines"], route_class=GuardedRoute)

TemplateId = Annotated[str, Path(pattern=SLUG)]
Owner = Annotated[Developer, developer_acting("agents:write")]


@templates_router.get("", dependencies=[Depends(within_read_limit)], responses=problems(TooManyRequests))
async def list_pipeline_templates(_: Public) -> PipelineTemplatesOut:
    """The templates of pipelines."""
    return PipelineTemplatesOut(items=[PipelineTemplateOut.of(one) for one in TEMPLATES])


@templates_router.get(
    "/{template_id}",
    dependencies=[Depends(within_read_limit)],
    responses=problems(TemplateUnknown, Invalid, TooManyRequests),
)
async def read_pipeline_template(template_id: TemplateId, _: Public) -> PipelineTemplateOut:
    """A template of pipelines."""
    return PipelineTemplateOut.of(template_of(template_id))


@templates_router.post(
    "/{template_id}/instantiate",
    status_code=CREATED,
    response_model=PipelineOut,
    responses=problems(*WRITES, TemplateUnknown, DefinitionInvalid, PipelineQuota),
)
async def instantiate_template(
    template_id: TemplateId,
    body: TemplateUseIn,
    developer: Owner,
    request: Request,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Create a pipeline of an own agent from a template."""
    await writes.admit(developer.sender)
    definition = instantiated(template_of(template_id), body.parameters)

    async def created(tx: Tx) -> PipelineOut:
        return PipelineOut.of(await saving.create(tx, developer, body.agent_did, definition))

    answer = await once(db, repeatable(developer, request, key, body), created)
    answer.status_code = CREATED
    return answer
