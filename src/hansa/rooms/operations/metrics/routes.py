"""Metrics of agents over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, Developer, developer_or_agent_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Forbidden, Invalid, OrgRoleRequired, Unauthorized
from hansa.rooms import agents

from .exposition import exposed
from .reading import read_exposed, read_metrics
from .schemas import MetricsOut, MetricsQuery

router = APIRouter(prefix="/agent-metrics", tags=["agents"], route_class=GuardedRoute)

Reader = Annotated[Developer | Agent, developer_or_agent_holding("agents:read")]
PROMETHEUS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get(
    "/{did}",
    response_model=MetricsOut,
    responses={
        **problems(Unauthorized, Forbidden, agents.AgentUnknown, OrgRoleRequired, Invalid),
        **PROMETHEUS,
    },
)
async def read_agent_metrics(
    did: Annotated[str, Path(max_length=DID_MAX_CHARACTERS)],
    caller: Reader,
    request: Request,
    db: Db,
    query: Annotated[MetricsQuery, Query()],
) -> MetricsOut | Response:
    """Metrics of an agent, for the agent and those who may read it: JSON, or the text of Prometheus."""
    if query.format == "prometheus" or (query.format is None and _prefers_text(request)):
        metrics, ever = await db.read(lambda tx: read_exposed(tx, caller, did, query.time_range))
        return Response(exposed(metrics, ever), media_type=CONTENT_TYPE_LATEST)
    return MetricsOut.of(await db.read(lambda tx: read_metrics(tx, caller, did, query.time_range)))


def _prefers_text(request: Request) -> bool:
    """Prometheus names text/plain, and no JSON."""
    accepted = request.headers.get("accept", "")
    return "text/plain" in accepted and "json" not in accepted
