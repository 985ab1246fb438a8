"""Acts of a provider on a contract that another registry holds, over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent
from hansa.foundation.plumbing.web.idempotency import IdempotencyKey
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, TooManyRequests, Unauthorized
from hansa.rooms.commerce.contracts.routes import ContractId
from hansa.rooms.commerce.contracts.schemas import (
    REGISTRY_MAX_CHARACTERS,
    ContractOut,
    FederatedAcceptIn,
    FederatedSubmissionIn,
)
from hansa.rooms.commerce.disputes.schemas import DisputeOut
from hansa.rooms.commerce.relaying import RELAY_REFUSALS, RelayedAct, keeper_of, relay

from .acting import accept_abroad, read_abroad, submit_abroad
from .schemas import FederatedDisputeIn

router = APIRouter(prefix="/contracts", tags=["contracts"], route_class=GuardedRoute)

_REFUSALS = problems(Unauthorized, Forbidden, *RELAY_REFUSALS, Invalid, BodyInvalid, TooManyRequests)


@router.post("/{contract_id}/accept-federated", responses=_REFUSALS)
async def accept_federated_contract(
    contract_id: ContractId,
    body: FederatedAcceptIn,
    agent: CurrentAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> ContractOut:
    """Accept a proposal that a peer holds, as its provider; the peer keeps the contract."""
    await writes.admit(agent.did)
    runtime = runtime_of(request)
    peer = await keeper_of(runtime, body.contractor_registry)
    return await accept_abroad(runtime, peer, agent.did, contract_id, key)


@router.post("/{contract_id}/submit-federated", responses=_REFUSALS)
async def submit_federated_work(
    contract_id: ContractId,
    body: FederatedSubmissionIn,
    agent: CurrentAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> ContractOut:
    """Submit the work, or the next milestone, of a contract that a peer holds."""
    await writes.admit(agent.did)
    runtime = runtime_of(request)
    peer = await keeper_of(runtime, body.contractor_registry)
    return await submit_abroad(runtime, peer, agent.did, contract_id, body.submission, key=key)


@router.post("/{contract_id}/dispute-federated", status_code=201, responses=_REFUSALS)
async def dispute_federated_contract(
    contract_id: ContractId,
    body: FederatedDisputeIn,
    agent: CurrentAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> DisputeOut:
    """File a dispute about a contract that a peer holds; it is filed there, and stops the contract."""
    await writes.admit(agent.did)
    declared = body.model_dump(mode="json", exclude={"contractor_registry"}, exclude_none=True)
    act = RelayedAct(contract_id, "dispute", {**declared, "contract_id": contract_id})
    runtime = runtime_of(request)
    peer = await keeper_of(runtime, body.contractor_registry)
    return await relay(runtime, peer, agent.did, act, DisputeOut, key=key)


@router.get("/{contract_id}/federated", responses=problems(Unauthorized, Forbidden, *RELAY_REFUSALS, Invalid))
async def read_federated_contract(
    contract_id: ContractId,
    agent: CurrentAgent,
    request: Request,
    *,
    contractor_registry: Annotated[
        str,
        Query(
            min_length=1,
            max_length=REGISTRY_MAX_CHARACTERS,
            description="The name, trust domain or ledger id of the registry that holds the contract.",
        ),
    ],
) -> ContractOut:
    """A contract that a peer holds, as that registry answers its provider; the copy here becomes what is answered."""
    runtime = runtime_of(request)
    peer = await keeper_of(runtime, contractor_registry)
    return await read_abroad(runtime, peer, agent.did, contract_id)
