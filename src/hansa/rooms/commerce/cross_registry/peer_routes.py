"""Routes of peers: acts of their agents on contracts of this registry, and statements about contracts of their own."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, takes_statements
from hansa.foundation.plumbing.web.idempotency import Repeatable, once
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer, PeerClosed
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, PayloadTooLarge, TooManyRequests, Unavailable
from hansa.rooms import federation
from hansa.rooms.commerce.contracts.errors import ProviderUnknown
from hansa.rooms.commerce.contracts.replicas.keeping import ContractOfAnother, keep_stated
from hansa.rooms.commerce.contracts.replicas.schemas import StatementIn, StatementOut
from hansa.rooms.commerce.contracts.schemas import ContractOut, ProxyIn
from hansa.rooms.commerce.disputes.schemas import DisputeOut
from hansa.rooms.commerce.relaying import PASSED_ON

from .errors import ActorOfAnother, PeerActInvalid
from .peer_acts import PeerActs

ROUTE = "/contracts/cross-registry/proxy"

router = APIRouter(tags=["federation"], route_class=GuardedRoute)


@router.post(
    ROUTE,
    response_model=ContractOut | DisputeOut,
    responses=problems(
        CertificateMissing,
        NotAPeer,
        ActorOfAnother,
        federation.FrameUnavailable,
        *PASSED_ON,
        PeerActInvalid,
        Invalid,
        BodyInvalid,
        TooManyRequests,
        Unavailable,
    ),
)
async def relay_act_of_peer(
    body: ProxyIn, caller: CurrentPeer, request: Request, *, writes: WriteLimit
) -> Response:
    """Carry out an act of an agent of the calling registry; the same request_id gets the same answer for a day."""
    caller.require_open()
    await writes.admit(body.actor_did)
    runtime = runtime_of(request)
    acts = PeerActs(runtime, caller, body)
    await acts.require_own_actor()
    done: dict[str, Callable[[Tx], Awaitable[BaseModel]]] = {
        "accept": acts.accept,
        "submit": acts.submit,
        "dispute": acts.dispute,
        "read": acts.read,
    }
    repeatable = None
    if body.act != "read":
        declared = body.model_dump(mode="json")
        repeatable = Repeatable(caller.spiffe_id, ROUTE, str(body.request_id), declared)
    return await once(runtime.database, repeatable, done[body.act])


@router.post(
    "/contracts/cross-registry/statement",
    responses=problems(
        CertificateMissing,
        NotAPeer,
        PeerClosed,
        ContractOfAnother,
        ProviderUnknown,
        Invalid,
        BodyInvalid,
        PayloadTooLarge,
        TooManyRequests,
        Unavailable,
    ),
)
@takes_statements
async def keep_stated_contract(
    body: StatementIn, caller: CurrentPeer, request: Request, *, writes: WriteLimit
) -> StatementOut:
    """Keep a copy of a contract of the calling registry with an agent of this one, and notify the agent's owner of its moves."""
    caller.require_open()
    declared = body.contract
    await writes.admit(declared.contractor_did)
    runtime = runtime_of(request)
    peer = await runtime.database.query(lambda tx: federation.peer_by_id(tx, caller.id))
    try:
        await keep_stated(runtime, peer, declared)
    except ContractOfAnother:
        await runtime.database.transaction(
            lambda tx: federation.count_refusal(tx, peer.id, "foreign_namespace")
        )
        raise
    return StatementOut(contract_id=declared.id, provider_did=declared.provider_did)
