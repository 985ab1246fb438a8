"""Read deployments: for the agent itself and those who may read it."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents

from . import store
from .errors import DeploymentUnknown
from .records import Deployment


async def list_deployments(
    tx: Tx, caller: Developer | Agent, did: str, before: int | None, limit: int
) -> list[Deployment]:
    """A page of the deployments of an agent, the newest first. Raises: AgentUnknown."""
    await agents.require_caller(tx, caller, did, Right.READ)
    return await store.page(tx, did, before, limit)


async def read_deployment(tx: Tx, caller: Developer | Agent, did: str, deployment_id: UUID) -> Deployment:
    """A deployment of an agent. Raises: AgentUnknown, DeploymentUnknown."""
    await agents.require_caller(tx, caller, did, Right.READ)
    return await deployment_of(tx, did, deployment_id)


async def deployment_of(tx: Tx, did: str, deployment_id: UUID) -> Deployment:
    """A deployment of an agent, for a caller that was judged. Raises: DeploymentUnknown."""
    deployment = await store.find(tx, did, deployment_id)
    if deployment is None:
        raise DeploymentUnknown
    return deployment
