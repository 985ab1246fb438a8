"""HTTP doors of capabilities."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Path
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, exact_numbers
from hansa.foundation.plumbing.web.caller import (
    CAPABILITY_HEADER,
    Agent,
    CurrentAgent,
    Developer,
    agent_holding,
    developer_holding,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    once,
)
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms.agents.errors import AgentUnknown
from hansa.rooms.agents.lineage import ChildEnding

from . import errors
from .issue import attenuate, delegations, issue, own_capabilities, revoke
from .schemas import (
    AttenuationIn,
    CapabilityIn,
    CapabilityOut,
    CapabilityRevokedOut,
    ConsumedOut,
    ConsumptionIn,
    DelegationsOut,
    IssuedOut,
    OwnCapabilitiesOut,
)
from .use import Presenter, consume

TOKEN_MAX_CHARACTERS = 128

router = APIRouter(prefix="/agents", route_class=GuardedRoute)

DelegatingAgent = Annotated[Agent, agent_holding("authz.delegate")]
ReadingDeveloper = Annotated[Developer, developer_holding("agents:read")]
Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
CapabilityToken = Annotated[
    str | None,
    Header(
        alias=CAPABILITY_HEADER,
        max_length=TOKEN_MAX_CHARACTERS,
        description="The token of this capability, if it has no holder.",
    ),
]


@router.post(
    "/capabilities",
    responses=problems(
        Unauthorized,
        errors.PermissionNotHeld,
        errors.HolderUnknown,
        ChildEnding,
        errors.TooManyCapabilities,
        Invalid,
        BodyInvalid,
    ),
)
@exact_numbers
async def issue_capability(body: CapabilityIn, agent: DelegatingAgent, db: Db, config: Config) -> IssuedOut:
    """Delegate own permissions to another agent within caveats. The token is shown only once."""
    terms = body.terms(config.settlement_currency)
    return IssuedOut.of(await db.transaction(lambda tx: issue(tx, agent, terms, body.recipient, config)))


@router.get("/capabilities/mine", responses=problems(Unauthorized))
async def read_own_capabilities(agent: CurrentAgent, db: Db, config: Config) -> OwnCapabilitiesOut:
    """The capabilities that the calling agent issued or holds, newest first, without their tokens."""
    chains = await db.read(lambda tx: own_capabilities(tx, agent.did))
    return OwnCapabilitiesOut(
        agent_did=agent.did,
        mode=config.agent_delegation_mode,
        tokens=[CapabilityOut.seen_by(agent.did, chain) for chain in chains],
    )


@router.post(
    "/capabilities/{capability_id:uuid}/attenuate",
    responses=problems(
        Unauthorized,
        errors.CapabilityUnknown,
        errors.CapabilityEnded,
        errors.NotRedelegable,
        errors.CapabilityWidened,
        errors.CapabilityAbsent,
        errors.HolderUnknown,
        ChildEnding,
        errors.TooManyCapabilities,
        Invalid,
        BodyInvalid,
    ),
)
@exact_numbers
async def attenuate_capability(
    capability_id: UUID, body: AttenuationIn, agent: CurrentAgent, db: Db, token: CapabilityToken = None
) -> IssuedOut:
    """Derive a narrower capability from one that the calling agent may use. The token is shown only once."""
    presenter, asked = Presenter(agent.did, token), body.narrowing()
    issued = await db.transaction(lambda tx: attenuate(tx, capability_id, presenter, asked, body.recipient))
    return IssuedOut.of(issued)


@router.post(
    "/capabilities/{capability_id:uuid}/consume",
    response_model=ConsumedOut,
    responses=problems(
        Unauthorized,
        errors.CapabilityUnknown,
        errors.CapabilityEnded,
        errors.DelegatorMayNot,
        errors.CaveatViolated,
        errors.CapabilityBudgetSpent,
        errors.CapabilityAbsent,
        ChildEnding,
        Invalid,
        BodyInvalid,
        KeyReused,
        KeyInProgress,
    ),
)
@exact_numbers
async def consume_capability(
    capability_id: UUID,
    body: ConsumptionIn,
    agent: CurrentAgent,
    db: Db,
    config: Config,
    *,
    token: CapabilityToken = None,
    key: IdempotencyKey = None,
) -> Response:
    """Consume a capability for an action outside the registry; no units move."""
    route = f"/agents/capabilities/{capability_id}/consume"
    request = Repeatable(agent.did, route, key, body.model_dump()) if key else None

    async def consumed(tx: Tx) -> ConsumedOut:
        presenter = Presenter(agent.did, token)
        return ConsumedOut.of(await consume(tx, capability_id, presenter, body.use(), config))

    return await once(db, request, consumed)


@router.delete(
    "/capabilities/{capability_id:uuid}", responses=problems(Unauthorized, errors.CapabilityAbsent)
)
async def revoke_capability(capability_id: UUID, agent: CurrentAgent, db: Db) -> CapabilityRevokedOut:
    """Revoke a capability and all derived ones; allowed for its holder and every issuer of its chain."""
    return CapabilityRevokedOut.of(await db.transaction(lambda tx: revoke(tx, capability_id, agent.did)))


@router.get("/{did}/delegations", responses=problems(Unauthorized, AgentUnknown, Invalid))
async def read_delegations(did: Did, developer: ReadingDeveloper, db: Db) -> DelegationsOut:
    """The capabilities that an own agent issued or holds, newest first, without their tokens."""
    chains = await db.read(lambda tx: delegations(tx, developer, did))
    return DelegationsOut(agent_did=did, grants=[CapabilityOut.seen_by(did, chain) for chain in chains])
