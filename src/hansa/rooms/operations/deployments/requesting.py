"""Request a deployment, or the rollback of the active one. The check follows, outside of the transaction."""

from collections.abc import Collection
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.web_address import require_callable
from hansa.rooms import catalogue
from hansa.rooms.operations.callers import lock_agent
from hansa.rooms.operations.releases import lock_release

from . import store
from .errors import (
    DEPLOYMENTS_A_DAY,
    DeploymentNotActive,
    DeploymentsTooMany,
    DeploymentUnderWay,
    DeploymentUnknown,
    NothingBefore,
)
from .records import Deployment, DeploymentRequest, Move, NewDeployment


async def request_deployment(
    tx: Tx, caller: Developer | Agent, did: str, asked: DeploymentRequest, allowed: Collection[str]
) -> Deployment:
    """Store a pending deployment. `allowed`: the operator's list of further hosts.

    Raises: as preview_deployment, and DeploymentUnderWay, DeploymentsTooMany.
    """
    move = await preview_deployment(tx, caller, did, asked, allowed)
    new = NewDeployment(
        agent_did=did,
        release_id=asked.release_id,
        url=move.url,
        binding=move.present.interface.binding,
        protocol_version=move.present.interface.version,
        note=asked.note,
        must_be_signed=isinstance(caller, Agent),
        card_version=move.present.version,
    )
    return await _stored(tx, new)


async def preview_deployment(
    tx: Tx, caller: Developer | Agent, did: str, asked: DeploymentRequest, allowed: Collection[str]
) -> Move:
    """Judge a request for a deployment, with the agent and the version locked; nothing is stored.

    Raises: AgentUnknown, OrgRoleRequired, AgentRevokedForGood, ReleaseUnknown, CardUnknown, AddressMissing, HostRefused.
    """
    await lock_agent(tx, caller, did)
    release = await lock_release(tx, did, asked.release_id)
    present = await catalogue.address_of_agent(tx, did)
    url = require_callable(asked.url or present.interface.url, allowed, field="url").url
    return Move(release.version, present, url)


async def request_rollback(tx: Tx, caller: Developer | Agent, did: str, deployment_id: UUID) -> Deployment:
    """Store a deployment, to be checked at once, that repeats the one before the active one.

    A rollback of a rollback leads further back.

    Raises: AgentUnknown, OrgRoleRequired, AgentRevokedForGood, DeploymentUnknown, DeploymentNotActive, NothingBefore, CardUnknown,
    AddressMissing, DeploymentUnderWay, DeploymentsTooMany.
    """
    await lock_agent(tx, caller, did)
    present = await store.find(tx, did, deployment_id)
    if present is None:
        raise DeploymentUnknown
    if present.status != "active":
        raise DeploymentNotActive(context={"status": present.status})
    before = None if present.before_id is None else await store.find(tx, did, present.before_id)
    if before is None:
        raise NothingBefore
    address = await catalogue.address_of_agent(tx, did)
    new = NewDeployment(
        agent_did=did,
        release_id=before.release_id,
        url=before.url,
        binding=address.interface.binding,
        protocol_version=address.interface.version,
        note=None,
        must_be_signed=isinstance(caller, Agent),
        card_version=address.version,
        status="verifying",
        before_id=before.before_id,
        rolls_back=present.id,
    )
    return await _stored(tx, new)


async def _stored(tx: Tx, new: NewDeployment) -> Deployment:
    if await store.count_of_day(tx, new.agent_did) >= DEPLOYMENTS_A_DAY:
        raise DeploymentsTooMany
    deployment_id = await store.insert(tx, new)
    if deployment_id is None:
        raise DeploymentUnderWay
    stored = await store.find_open(tx, deployment_id)
    assert stored is not None, "it was stored as an open one"
    return stored
