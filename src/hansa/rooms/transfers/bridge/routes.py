"""HTTP routes of the bridge: for agents, and for the registries between which it leads."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Runtime, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    Agent,
    CurrentAgent,
    PermissionMissing,
    agent_holding,
    require_permission,
)
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.idempotency import IdempotencyKey, Repeatable, answer_once
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer
from hansa.foundation.plumbing.web.problem_docs import problems, refuses_with
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized, Unavailable
from hansa.foundation.values.money import parse_positive
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import agents, federation, ledger
from hansa.rooms.transfers.asking import (
    APPROVAL_NEEDED,
    REFUSALS,
    CapabilityToken,
    SpendApproval,
    approval_answer,
    one_approval,
)
from hansa.rooms.transfers.crossing.transferring import XREG_PERMISSION

from . import wrapped_store
from .acting import Begun, RedemptionRequest, WrapRequest, redeem, require_bridge, retry, wrap
from .channel import CHANNEL
from .errors import BRIDGE_REFUSALS, REDEEM_REFUSALS, TRANSFER_REFUSALS, SagaDirection, SagaUnknown
from .messages import Direction
from .reading import find_saga
from .schemas import (
    BridgeMessagesIn,
    BridgeMessagesOut,
    BridgeRedeemIn,
    BridgeSagaOut,
    BridgeStatusOut,
    BridgeStepIn,
    BridgeTransferIn,
    WrappedHoldings,
)

router = APIRouter(tags=["bridge"], route_class=GuardedRoute)
peer_router = APIRouter(tags=["federation"], route_class=GuardedRoute)

TRANSFER, REDEEM = "/bridge/transfer", "/bridge/redeem"
MINT, UNLOCK = "/bridge/mint-wrapped", "/bridge/unlock"


@refuses_with(PermissionMissing)
@evaluated_once
async def redeeming_agent(request: Request, agent: CurrentAgent) -> Agent:
    """The agent that asks, with the permission; a child that is ending has none, and gives back the wrapped units that its end waits for."""
    runtime = runtime_of(request)
    if XREG_PERMISSION in agent.permissions:
        return agent
    if not await runtime.database.read(lambda tx: agents.ending_among(tx, [agent.did])):
        require_permission(agent, XREG_PERMISSION, runtime.settings.agent_rbac_mode)
    return agent


redeeming_agent.permission = XREG_PERMISSION  # type: ignore[attr-defined]

WrappingAgent = Annotated[Agent, agent_holding(XREG_PERMISSION, or_capability=True)]
SteppingAgent = Annotated[Agent, agent_holding(XREG_PERMISSION)]
RedeemingAgent = Annotated[Agent, Depends(redeeming_agent)]


@router.post(
    TRANSFER,
    response_model=BridgeSagaOut,
    responses={202: APPROVAL_NEEDED, **problems(*REFUSALS, *TRANSFER_REFUSALS)},
)
async def wrap_units(
    body: BridgeTransferIn,
    agent: WrappingAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
    capability: CapabilityToken = None,
) -> Response:
    """Lock units here, so that an agent of another registry holds as many wrapped ones; only on a sovereign mainframe."""
    await writes.admit(agent.did)
    runtime = runtime_of(request)
    require_bridge(runtime.settings)
    repeatable = _repeatable(agent, TRANSFER, key, body, exclude={"approval_id"})
    amount = parse_positive(body.amount)
    payment = agents.Payment(
        payee=body.receiver_did,
        amount=amount,
        currency=runtime.settings.settlement_currency,
        permission=XREG_PERMISSION,
        operation="bridge.transfer",
        approval_id=one_approval(body.approval_id, approval),
        capability_token=capability,
        request_scope=repeatable.scope if repeatable else None,
    )
    begun = await wrap(runtime, agent, WrapRequest(body.receiver_did, amount, payment, repeatable))
    return await _begun_answer(runtime, agent, begun, repeatable)


@router.post(
    REDEEM,
    response_model=BridgeSagaOut,
    responses={202: APPROVAL_NEEDED, **problems(*REFUSALS, *REDEEM_REFUSALS, agents.ChildEnding)},
)
async def redeem_wrapped_units(
    body: BridgeRedeemIn,
    agent: RedeemingAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
) -> Response:
    """End wrapped units here, so that as many are unlocked at their home; only on a sovereign mainframe."""
    await writes.admit(agent.did)
    runtime = runtime_of(request)
    require_bridge(runtime.settings)
    repeatable = _repeatable(agent, REDEEM, key, body, exclude={"approval_id"})
    amount = parse_positive(body.amount)
    # A policy of the owner counts each wrapped unit as an own one.
    payment = agents.Payment(
        payee=body.receiver_did,
        amount=amount,
        currency=runtime.settings.settlement_currency,
        permission=XREG_PERMISSION,
        operation="bridge.redeem",
        approval_id=one_approval(body.approval_id, approval),
        request_scope=repeatable.scope if repeatable else None,
    )
    asked = RedemptionRequest(body.receiver_did, amount, body.wrapped_currency, payment, repeatable)
    begun = await redeem(runtime, agent, asked)
    return await _begun_answer(runtime, agent, begun, repeatable)


STEP_REFUSALS = problems(*REFUSALS, *BRIDGE_REFUSALS, SagaUnknown, SagaDirection)


@router.post(MINT, response_model=BridgeSagaOut, responses=STEP_REFUSALS)
async def mint_wrapped_again(
    body: BridgeStepIn,
    agent: SteppingAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Ask the other registry to mint again, as the registries do by themselves. A saga that has ended stays as it is."""
    await writes.admit(agent.did)
    return await _step(runtime_of(request), agent, body, Direction.WRAP, _repeatable(agent, MINT, key, body))


@router.post(UNLOCK, response_model=BridgeSagaOut, responses=STEP_REFUSALS)
async def unlock_again(
    body: BridgeStepIn,
    agent: SteppingAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Ask the home of redeemed units to unlock again; the registries do it by themselves as well."""
    await writes.admit(agent.did)
    return await _step(
        runtime_of(request), agent, body, Direction.REDEEM, _repeatable(agent, UNLOCK, key, body)
    )


@router.get("/bridge/status/{saga_id}", responses=problems(Unauthorized, SagaUnknown))
async def read_saga(
    saga_id: Annotated[UUID, Path()], agent: CurrentAgent, db: Db, config: Config
) -> BridgeStatusOut:
    """The state of a saga with the states that it passed, for its sender or its receiver."""
    book = ledger.Book.of(config)
    return BridgeStatusOut.of(await db.read(lambda tx: find_saga(tx, saga_id, agent.did, book)))


@router.get("/bridge/wrapped", responses=problems(Unauthorized))
async def read_wrapped_units(agent: CurrentAgent, db: Db) -> WrappedHoldings:
    """The units of other registries that the agent holds here."""
    return WrappedHoldings.of(await db.read(lambda tx: wrapped_store.held_by(tx, agent.did)))


@peer_router.post(
    "/federation/bridge/messages",
    responses=problems(CertificateMissing, NotAPeer, Invalid, TooManyRequests, Unavailable),
)
async def bridge_messages(body: BridgeMessagesIn, caller: CurrentPeer, request: Request) -> BridgeMessagesOut:
    """Take the messages of a peer in; a repeated message gets its stored answer."""
    runtime = runtime_of(request)
    peer = await runtime.database.query(lambda tx: federation.peer_by_id(tx, caller.id))
    return BridgeMessagesOut(messages=await CHANNEL.receive(runtime, peer, body.messages))


async def _step(
    runtime: Runtime, agent: Agent, body: BridgeStepIn, direction: Direction, repeatable: Repeatable | None
) -> Response:
    require_bridge(runtime.settings)
    if repeatable is not None:
        known = await runtime.database.transaction(lambda tx: idempotency.recall(tx, repeatable))
        if known is not None:
            return answer_once(known, replayed=True)
    await retry(runtime, agent, body.saga_id, direction)
    return await _answer(runtime, agent, body.saga_id, repeatable, replayed=False)


def _repeatable(
    agent: Agent, route: str, key: str | None, body: RequestBody, exclude: set[str] | None = None
) -> Repeatable | None:
    return (
        None
        if key is None
        else Repeatable(agent.did, route, key, body.model_dump(mode="json", exclude=exclude))
    )


async def _begun_answer(
    runtime: Runtime, agent: Agent, begun: Begun | agents.Approval, repeatable: Repeatable | None
) -> Response:
    """The saga, or the approval that its owner was asked for."""
    if isinstance(begun, agents.Approval):
        return approval_answer(begun, runtime.settings.settlement_currency)
    # Under the name of the saga: a refund frees the key of the request, under which another saga may begin.
    answered = None if repeatable is None else _answer_of(repeatable, begun.saga_id)
    return await _answer(runtime, agent, begun.saga_id, answered, replayed=begun.replayed)


def _answer_of(request: Repeatable, saga_id: UUID) -> Repeatable:
    return Repeatable(request.caller, f"{request.route} answer", str(saga_id), request.body)


async def _answer(
    runtime: Runtime, agent: Agent, saga_id: UUID, answered: Repeatable | None, *, replayed: bool
) -> Response:
    """The saga as it is, or as the first answer of a repeatable request showed it."""
    book = ledger.Book.of(runtime.settings)

    async def first_answer(tx: Tx) -> str:
        if answered is not None and (known := await idempotency.recall(tx, answered)) is not None:
            return known
        answer = BridgeSagaOut.of(await find_saga(tx, saga_id, agent.did, book)).model_dump_json()
        if answered is not None:
            await idempotency.remember(tx, answered, answer)
        return answer

    return answer_once(await runtime.database.transaction(first_answer), replayed=replayed)
