"""Pipelines over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, Developer, developer_or_agent_holding
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Forbidden, Invalid, OrgRoleRequired, TooManyRequests, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import agents

from . import saving
from .errors import DefinitionInvalid, PipelineQuota, PipelineRunning, PipelineUnknown
from .schemas import PipelineDeletedOut, PipelineIn, PipelineOut

PAGE_DEFAULT, PAGE_MAX = 20, 100
OFFSET_MAX = 2**31 - 1

router = APIRouter(prefix="/agents/{did}/pipelines", tags=["pipelines"], route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
PipelineId = Annotated[UUID, Path()]
Reader = Annotated[Developer | Agent, developer_or_agent_holding("agents:read")]
Writer = Annotated[Developer | Agent, developer_or_agent_holding("agents:write", is_act=True)]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]
CREATED = 201

READS = (Unauthorized, Forbidden, agents.AgentUnknown, Invalid)
WRITES = (*READS, OrgRoleRequired, KeyReused, KeyInProgress, TooManyRequests, BodyInvalid)


@router.post(
    "",
    status_code=CREATED,
    response_model=PipelineOut,
    responses=problems(*WRITES, DefinitionInvalid, PipelineQuota),
)
async def create_pipeline(
    did: Did,
    body: PipelineIn,
    caller: Writer,
    request: Request,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Create a pipeline of an agent: a chain of paid calls with a budget. An agent has at most 20."""
    await writes.admit(caller.sender)
    definition = body.definition()

    async def created(tx: Tx) -> PipelineOut:
        return PipelineOut.of(await saving.create(tx, caller, did, definition))

    answer = await once(db, repeatable(caller, request, key, body), created)
    answer.status_code = CREATED
    return answer


@router.get("", responses=problems(*READS))
async def list_pipelines(
    did: Did, caller: Reader, db: Db, *, limit: Limit = PAGE_DEFAULT, offset: Offset = 0
) -> Page[PipelineOut]:
    """The pipelines of an agent, newest first."""
    found, total = await db.read(lambda tx: saving.page(tx, caller, did, limit=limit, offset=offset))
    return Page(
        items=[PipelineOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.get("/{pipeline_id}", responses=problems(*READS, PipelineUnknown))
async def read_pipeline(did: Did, pipeline_id: PipelineId, caller: Reader, db: Db) -> PipelineOut:
    """A pipeline of an agent."""
    return PipelineOut.of(await db.read(lambda tx: saving.read(tx, caller, did, pipeline_id)))


@router.put(
    "/{pipeline_id}",
    response_model=PipelineOut,
    responses=problems(*WRITES, PipelineUnknown, DefinitionInvalid),
)
async def replace_pipeline(
    did: Did,
    pipeline_id: PipelineId,
    body: PipelineIn,
    caller: Writer,
    *,
    request: Request,
    db: Db,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Write a new revision of a pipeline; runs that began before keep theirs."""
    await writes.admit(caller.sender)
    definition = body.definition()

    async def replaced(tx: Tx) -> PipelineOut:
        return PipelineOut.of(await saving.replace(tx, caller, did, pipeline_id, definition))

    return await once(db, repeatable(caller, request, key, body), replaced)


@router.delete(
    "/{pipeline_id}",
    responses=problems(*READS, OrgRoleRequired, TooManyRequests, PipelineUnknown, PipelineRunning),
)
async def delete_pipeline(
    did: Did, pipeline_id: PipelineId, caller: Writer, db: Db, writes: WriteLimit
) -> PipelineDeletedOut:
    """Delete a pipeline of which every run has ended."""
    await writes.admit(caller.sender)
    await db.transaction(lambda tx: saving.delete(tx, caller, did, pipeline_id))
    return PipelineDeletedOut(id=pipeline_id, deleted=True)
