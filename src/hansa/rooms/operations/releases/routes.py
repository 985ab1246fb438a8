"""Releases over HTTP: for the agent, under `/agents/self`, and for its owner."""

from collections.abc import Awaitable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, Developer, agent_holding, developer_acting
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Forbidden, Invalid, OrgRoleRequired, Unauthorized
from hansa.rooms import agents, catalogue

from .activating import activate_release
from .errors import ReleasesTooMany, ReleaseUnknown, VersionTaken
from .registering import register_release
from .schemas import CodeVersionIn

agents_router = APIRouter(prefix="/agents/self/version", tags=["agents"], route_class=GuardedRoute)
owners_router = APIRouter(prefix="/agents/{did}/versions", tags=["agents"], route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
Self = Annotated[Agent, agent_holding("cicd.version")]
Owner = Annotated[Developer, developer_acting("agents:write")]
_REFUSALS = (
    Unauthorized,
    Forbidden,
    agents.AgentRevokedForGood,
    KeyReused,
    KeyInProgress,
    Invalid,
    BodyInvalid,
)
_REGISTERING = (*_REFUSALS, VersionTaken, ReleasesTooMany)
_OF_OWNER = (agents.AgentUnknown, OrgRoleRequired)


@agents_router.post("", response_model=catalogue.CodeVersionOut, responses=problems(*_REGISTERING))
async def register_own_version(
    body: CodeVersionIn, agent: Self, request: Request, db: Db, *, key: IdempotencyKey = None
) -> Response:
    """Register a version of the own code, as a draft."""
    new = body.release()
    sent = repeatable(agent, request, key, body)
    return await once(db, sent, lambda tx: _answer(register_release(tx, agent, agent.did, new)))


@agents_router.post(
    "/{version_id}/activate",
    response_model=catalogue.CodeVersionOut,
    responses=problems(*_REFUSALS, ReleaseUnknown),
)
async def activate_own_version(
    version_id: UUID, agent: Self, request: Request, db: Db, *, key: IdempotencyKey = None
) -> Response:
    """Make a version of the own code the active one; the one before is retired."""
    sent = repeatable(agent, request, key)
    return await once(db, sent, lambda tx: _answer(activate_release(tx, agent, agent.did, version_id)))


@owners_router.post(
    "", response_model=catalogue.CodeVersionOut, responses=problems(*_REGISTERING, *_OF_OWNER)
)
async def register_version(
    did: Did, body: CodeVersionIn, owner: Owner, request: Request, db: Db, *, key: IdempotencyKey = None
) -> Response:
    """Register a version of the code of an agent, as a draft."""
    new = body.release()
    sent = repeatable(owner, request, key, body)
    return await once(db, sent, lambda tx: _answer(register_release(tx, owner, did, new)))


@owners_router.post(
    "/{version_id}/activate",
    response_model=catalogue.CodeVersionOut,
    responses=problems(*_REFUSALS, ReleaseUnknown, *_OF_OWNER),
)
async def activate_version(
    did: Did, version_id: UUID, owner: Owner, request: Request, db: Db, *, key: IdempotencyKey = None
) -> Response:
    """Make a version of the code of an agent the active one; the one before is retired."""
    sent = repeatable(owner, request, key)
    return await once(db, sent, lambda tx: _answer(activate_release(tx, owner, did, version_id)))


async def _answer(act: Awaitable[catalogue.Release]) -> catalogue.CodeVersionOut:
    return catalogue.CodeVersionOut.of(await act)
