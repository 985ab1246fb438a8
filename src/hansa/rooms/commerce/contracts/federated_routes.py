"""Contracts that another registry holds, over HTTP."""

from typing import NoReturn

from fastapi import APIRouter

from hansa.foundation.plumbing.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.caller import CurrentAgent, Public
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Unauthorized

from . import errors
from .routes import ContractId
from .schemas import ContractOut, FederatedAcceptIn, FederatedSubmissionIn

router = APIRouter(prefix="/contracts", tags=["contracts"], route_class=GuardedRoute)


@router.post(
    "/{contract_id}/accept-federated",
    response_model=ContractOut,
    responses=problems(Unauthorized, Forbidden, errors.PeerUnknown, Invalid, BodyInvalid),
)
async def accept_federated_contract(
    contract_id: ContractId, body: FederatedAcceptIn, agent: CurrentAgent
) -> NoReturn:
    """Accept a proposal that a peer holds; no other registry is a peer of this one yet."""
    del contract_id, agent
    raise errors.PeerUnknown(context={"registry": body.contractor_registry})


@router.post(
    "/{contract_id}/submit-federated",
    response_model=ContractOut,
    responses=problems(Unauthorized, Forbidden, errors.PeerUnknown, Invalid, BodyInvalid),
)
async def submit_federated_work(
    contract_id: ContractId, body: FederatedSubmissionIn, agent: CurrentAgent
) -> NoReturn:
    """Submit the work of a contract that a peer holds; no other registry is a peer of this one yet."""
    del contract_id, agent
    raise errors.PeerUnknown(context={"registry": body.contractor_registry})


@router.post("/cross-registry/proxy", response_model=ContractOut, responses=problems(Unauthorized))
async def relay_act_of_peer(_: Public) -> NoReturn:
    """Carry out an act that a peer relays; it needs the client certificate of a peer."""
    raise Unauthorized("The client certificate of a peer registry is required.")
