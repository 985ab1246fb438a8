"""Identity documents over HTTP: under the API by DID, and at the root as a DID resolver looks for them."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path
from fastapi.responses import JSONResponse

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests
from hansa.rooms.agents.errors import AgentUnknown

from .reading import describe, resolve, resolve_bound
from .schemas import AgentDescription, DidDocument

REFUSALS = problems(AgentUnknown, Invalid, TooManyRequests)
API = "/api/v1"

router = APIRouter(route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
root_router = APIRouter(tags=["agents"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])

Did = Annotated[str, Path(max_length=512)]


class DidResponse(JSONResponse):
    """A DID document on the wire."""

    media_type = "application/did+json"


@router.get(
    "/agents/{did}/did.json",
    response_class=DidResponse,
    response_model_exclude_none=True,
    responses=REFUSALS,
)
async def read_did_document(did: Did, db: Db, settings: Config, _: Public) -> DidDocument:
    """The DID document of an agent of this registry, in any status, or of an account of the registry's own."""
    identity = await db.read(lambda tx: resolve(tx, did, settings))
    return DidDocument.of(identity, settings.base_url + API)


@root_router.get(
    "/agents/{identifier}/did.json",
    response_class=DidResponse,
    response_model_exclude_none=True,
    responses=REFUSALS,
)
async def read_did_document_at_root(
    identifier: Annotated[str, Path(max_length=512, description="The DID after its method.")],
    db: Db,
    settings: Config,
    _: Public,
) -> DidDocument:
    """The DID document of `did:<method>:<identifier>`."""
    did = f"did:{settings.did_method}:{identifier}"
    identity = await db.read(lambda tx: resolve(tx, did, settings))
    return DidDocument.of(identity, settings.base_url + API)


@root_router.get(
    "/{unique:uuid}/did.json",
    response_class=DidResponse,
    response_model_exclude_none=True,
    responses=REFUSALS,
)
async def read_bound_did_document(unique: UUID, db: Db, settings: Config, _: Public) -> DidDocument:
    """The DID document of `did:<method>:<issuer>:<unique>`, where the issuer is this registry's trust domain."""
    identity = await db.read(lambda tx: resolve_bound(tx, unique, settings))
    return DidDocument.of(identity, settings.base_url + API)


@router.get("/agents/{did}/ad.json", response_model_exclude_none=True, responses=REFUSALS)
async def read_agent_description(did: Did, db: Db, settings: Config, _: Public) -> AgentDescription:
    """An agent's description of the Agent Network Protocol."""
    identity, card = await db.read(lambda tx: describe(tx, did))
    return AgentDescription.of(identity, card, settings.base_url + API)
