"""Deployments over HTTP, for the agent and its owner."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    Agent,
    Developer,
    developer_or_agent_holding,
    developer_or_agent_permitted,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    answer_once,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Forbidden, HostRefused, Invalid, OrgRoleRequired, Unauthorized
from hansa.rooms import agents, catalogue
from hansa.rooms.operations.releases import ReleaseUnknown

from .errors import (
    DeploymentNotActive,
    DeploymentsTooMany,
    DeploymentUnderWay,
    DeploymentUnknown,
    NothingBefore,
)
from .reading import list_deployments, read_deployment
from .requesting import request_deployment
from .rolling_back import roll_back
from .schemas import DeploymentIn, DeploymentOut, DeploymentsOut, DeploymentsQuery
from .verifying import enqueue_check

router = APIRouter(prefix="/agents/{did}/deployments", tags=["agents"], route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
Reader = Annotated[Developer | Agent, developer_or_agent_holding("agents:read")]
Writer = Annotated[Developer | Agent, developer_or_agent_permitted("agents:write", "cicd.version")]
_READING = (Unauthorized, Forbidden, agents.AgentUnknown, Invalid)
_DEPLOYING = (
    *_READING,
    OrgRoleRequired,
    agents.AgentRevokedForGood,
    catalogue.CardUnknown,
    catalogue.AddressMissing,
    DeploymentUnderWay,
    DeploymentsTooMany,
    KeyReused,
    KeyInProgress,
)


@router.post(
    "",
    status_code=202,
    response_model=DeploymentOut,
    responses=problems(*_DEPLOYING, ReleaseUnknown, HostRefused, BodyInvalid),
)
async def deploy_version(
    did: Did,
    body: DeploymentIn,
    caller: Writer,
    request: Request,
    db: Db,
    *,
    config: Config,
    key: IdempotencyKey = None,
) -> Response:
    """Move an agent to an address: it is checked there, then its card states the address and the version is active.

    The card there has the DID of the agent in `did`. Where an agent asks, the card is signed by it and states the address.
    """

    async def requested(tx: Tx) -> DeploymentOut:
        asked = body.deployment()
        allowed = config.outgoing_allow_user_hosts
        deployment = await request_deployment(tx, caller, did, asked, allowed)
        await enqueue_check(tx, deployment)
        return DeploymentOut.of(deployment)

    answer = await once(db, repeatable(caller, request, key, body), requested)
    answer.status_code = 202
    return answer


@router.get("", responses=problems(*_READING))
async def read_deployments(
    did: Did, caller: Reader, db: Db, query: Annotated[DeploymentsQuery, Query()]
) -> DeploymentsOut:
    """The deployments of an agent, newest first."""
    found = await db.read(lambda tx: list_deployments(tx, caller, did, query.before, query.limit + 1))
    return DeploymentsOut.of(found, query.limit)


@router.get("/{deployment_id}", responses=problems(*_READING, DeploymentUnknown))
async def read_one_deployment(did: Did, deployment_id: UUID, caller: Reader, db: Db) -> DeploymentOut:
    """One deployment of an agent."""
    return DeploymentOut.of(await db.read(lambda tx: read_deployment(tx, caller, did, deployment_id)))


@router.post(
    "/{deployment_id}/rollback",
    response_model=DeploymentOut,
    responses=problems(
        *_DEPLOYING, DeploymentUnknown, DeploymentNotActive, NothingBefore, catalogue.CardChanged
    ),
)
async def roll_deployment_back(
    did: Did,
    deployment_id: UUID,
    caller: Writer,
    request: Request,
    *,
    key: IdempotencyKey = None,
) -> Response:
    """Deploy the one before the active deployment again. The check is made within this request, whose answer is its result."""
    sent = repeatable(caller, request, key)
    deployment, is_repeated = await roll_back(runtime_of(request), caller, did, deployment_id, sent)
    return answer_once(DeploymentOut.of(deployment).model_dump_json(), replayed=is_repeated)
