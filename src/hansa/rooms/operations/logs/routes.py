"""Logs of agents over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    Agent,
    Developer,
    developer_acting,
    developer_or_agent_holding,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    answer_once,
    repeatable,
)
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Forbidden, Invalid, OrgRoleRequired, Unauthorized
from hansa.rooms import agents

from .reading import read
from .schemas import LogsAcceptedOut, LogsDeletedOut, LogsIn, LogsOut, LogsQuery
from .writing import LOGS, LogRateReached, Logs, Written, clear

router = APIRouter(prefix="/agents/{did}/logs", tags=["agents"], route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
Reader = Annotated[Developer | Agent, developer_or_agent_holding("agents:read")]
Writer = Annotated[Developer | Agent, developer_or_agent_holding("agents:write", is_act=True)]
Owner = Annotated[Developer, developer_acting("agents:write")]
LogsOfProcess = Annotated[Logs, Depends(LOGS.given)]


@router.post(
    "",
    status_code=201,
    response_model=LogsAcceptedOut,
    responses=problems(
        Unauthorized,
        Forbidden,
        agents.AgentUnknown,
        OrgRoleRequired,
        LogRateReached,
        KeyReused,
        KeyInProgress,
        Invalid,
        BodyInvalid,
    ),
)
async def write_logs(
    did: Did,
    body: LogsIn,
    caller: Writer,
    request: Request,
    logs: LogsOfProcess,
    *,
    key: IdempotencyKey = None,
) -> Response:
    """Write entries to the log of an agent, all or none, 600 a minute. Secrets in them are not stored; the oldest entries are deleted."""
    entries = await body.new_entries()
    sent = repeatable(caller, request, key, body)

    written = await logs.write(Written(caller, did, entries), sent)
    answer = answer_once(written.text, replayed=written.replayed)
    answer.status_code = 201
    return answer


@router.get("", responses=problems(Unauthorized, Forbidden, agents.AgentUnknown, OrgRoleRequired, Invalid))
async def read_logs(did: Did, caller: Reader, db: Db, query: Annotated[LogsQuery, Query()]) -> LogsOut:
    """The log of an agent, newest first, for the agent and those who may read it."""
    found = await db.read(lambda tx: read(tx, caller, did, query.entry_filter()))
    return LogsOut.of(found, query.limit)


@router.delete("", responses=problems(Unauthorized, Forbidden, agents.AgentUnknown, OrgRoleRequired, Invalid))
async def delete_logs(did: Did, developer: Owner, db: Db) -> LogsDeletedOut:
    """Delete every entry of the log of an agent."""
    return LogsDeletedOut(deleted=await db.transaction(lambda tx: clear(tx, developer, did)))
