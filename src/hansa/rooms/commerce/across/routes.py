"""What a provider does with a contract that another registry holds, over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from hansa.foundation.plumbing.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.caller import CurrentAgent
from hansa.foundation.plumbing.idempotency import IdempotencyKey
from hansa.foundation.plumbing.limits import WriteLimit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import runtime_of
from hansa.foundation.values.errors import Forbidden, Invalid, TooManyRequests, Unauthorized
from hansa.rooms.commerce.contracts.routes import ContractId
from hansa.rooms.commerce.contracts.schemas import ContractOut, FederatedAcceptIn, FederatedSubmissionIn
from hansa.rooms.commerce.disputes.schemas import DisputeOut
from hansa.rooms.commerce.relaying import RELAY_REFUSALS, RelayedAct, relay

from .schemas import FederatedDisputeIn

router = APIRouter(prefix="/contracts", tags=["contracts"], route_class=GuardedRoute)

_REFUSALS = problems(Unauthorized, Forbidden, *RELAY_REFUSALS, Invalid, BodyInvalid, TooManyRequests)
REGISTRY_MAX_CHARACTERS = 253


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
    act = RelayedAct(contract_id, "accept")
    return await relay(runtime_of(request), agent, body.contractor_registry, act, ContractOut, key=key)


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
    act = RelayedAct(contract_id, "submit", body.submission.model_dump(mode="json"))
    return await relay(runtime_of(request), agent, body.contractor_registry, act, ContractOut, key=key)


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
    stated = body.model_dump(mode="json", exclude={"contractor_registry"}, exclude_none=True)
    act = RelayedAct(contract_id, "dispute", {**stated, "contract_id": contract_id})
    return await relay(runtime_of(request), agent, body.contractor_registry, act, DisputeOut, key=key)


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
    """A contract that a peer holds, as that registry answers its provider."""
    act = RelayedAct(contract_id, "read")
    return await relay(runtime_of(request), agent, contractor_registry, act, ContractOut)
