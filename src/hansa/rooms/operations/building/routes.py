"""The agent builder over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, developer_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import (
    Forbidden,
    Invalid,
    MemberInvalid,
    OrgRoleRequired,
    TooManyRequests,
    Unauthorized,
)
from hansa.rooms import agents

from .archive import PROJECT_FILE, PROJECT_TYPE
from .building import build_project
from .schemas import AgentProjectIn

router = APIRouter(prefix="/agent-builder", tags=["agents"], route_class=GuardedRoute)

Builder = Annotated[Developer, developer_holding("agents:read")]
ARCHIVE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The project: one directory with the code, `agent.json`, the card, a Dockerfile and tests.",
        "content": {PROJECT_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/generate",
    response_class=Response,
    dependencies=[Depends(within_read_limit)],
    responses={
        **problems(
            Unauthorized,
            Forbidden,
            agents.AgentUnknown,
            OrgRoleRequired,
            MemberInvalid,
            Invalid,
            TooManyRequests,
        ),
        **ARCHIVE,
    },
)
async def generate_project(body: AgentProjectIn, developer: Builder, db: Db, settings: Config) -> Response:
    """Generate the project of an agent: it runs and is paid. Nothing is stored; the same request gives the same bytes."""
    content = await db.read(lambda tx: build_project(tx, developer, body, settings))
    return Response(
        content,
        media_type=PROJECT_TYPE,
        headers={
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="{PROJECT_FILE}"',
        },
    )
