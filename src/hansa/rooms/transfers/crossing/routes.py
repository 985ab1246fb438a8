"""HTTP routes of agents for transfers to other registries."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.caller import Agent, CurrentAgent, agent_holding
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.idempotency import IdempotencyKey, Repeatable, answer_once
from hansa.foundation.plumbing.lazy_routes import LazyRoute
from hansa.foundation.plumbing.limits import WriteLimit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db, Runtime, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Refused, Unauthorized
from hansa.rooms import agents, ledger
from hansa.rooms.transfers.asking import (
    APPROVAL_NEEDED,
    REFUSALS,
    CapabilityToken,
    SpendApproval,
    approval_answer,
    one_approval,
)

from . import store
from .destination import corridor_to, is_foreign
from .errors import (
    AgentBlocked,
    CrossingRefused,
    CrossingUndecided,
    CurrencyDiffers,
    FeeMismatch,
    LicenceRequired,
    PeerLimitReached,
    PeerPaused,
    PeerRewound,
    ReceiverIsLocal,
    ReceiverRegistryUnknown,
    ReceiverUnknown,
    TransferUnknown,
)
from .schemas import CrossRegistryTransferIn, CrossRegistryTransferOut, CrossRegistryTransferState
from .transferring import AskedCrossing, Crossed, cross

PERMISSION = "teg.transfer_xreg"
ROUTE = "/teg/cross-registry-transfer"
CROSSING_REFUSALS: tuple[type[Refused], ...] = (
    AgentBlocked,
    CrossingRefused,
    CrossingUndecided,
    CurrencyDiffers,
    FeeMismatch,
    LicenceRequired,
    PeerLimitReached,
    PeerPaused,
    PeerRewound,
    ReceiverRegistryUnknown,
    ReceiverUnknown,
)

crossing_router = APIRouter(tags=["transfers"], route_class=LazyRoute)

CrossingAgent = Annotated[Agent, agent_holding(PERMISSION, or_capability=True)]


@crossing_router.post(
    ROUTE,
    response_model=CrossRegistryTransferOut,
    responses={202: APPROVAL_NEEDED, **problems(*REFUSALS, *CROSSING_REFUSALS, ReceiverIsLocal)},
)
async def transfer_across(
    body: CrossRegistryTransferIn,
    agent: CrossingAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
    capability: CapabilityToken = None,
) -> Response:
    """Transfer units to an agent of another registry; its registry keeps the border fee of the amount."""
    await writes.admit(agent.did)
    runtime = runtime_of(request)
    if not is_foreign(body.receiver_did, runtime.settings):
        raise ReceiverIsLocal
    repeatable = None
    if key is not None:
        repeatable = Repeatable(agent.did, ROUTE, key, body.model_dump(mode="json", exclude={"approval_id"}))
    asked = asked_crossing(
        runtime.settings,
        body.order_by(agent.did),
        "teg.cross_registry_transfer",
        repeatable,
        backend=body.backend,
        approval=one_approval(body.approval_id, approval),
        capability=capability,
    )
    crossed = await across(runtime, agent, asked)
    if isinstance(crossed, agents.Approval):
        return approval_answer(crossed, runtime.settings.settlement_currency)
    answer = CrossRegistryTransferOut.of(crossed.row)
    return answer_once(answer.model_dump_json(), replayed=crossed.replayed)


async def across(runtime: Runtime, agent: Agent, asked: AskedCrossing) -> Crossed | agents.Approval:
    """Carry a transfer to another registry out, or ask the agent's owner. Raises: as `cross` and `corridor_to`."""
    settings = runtime.settings
    corridor = await runtime.database.look(lambda tx: corridor_to(tx, asked.order.payee, settings))
    return await cross(runtime, agent, corridor, asked)


def asked_crossing(
    settings: Settings,
    order: ledger.TransferOrder,
    operation: str,
    request: Repeatable | None,
    *,
    backend: str | None,
    approval: UUID | None,
    capability: str | None,
) -> AskedCrossing:
    """The transfer as it is judged: by roles, capability and spend policy."""
    payment = agents.Payment(
        payee=order.payee,
        amount=order.amount,
        currency=settings.settlement_currency,
        permission=PERMISSION,
        operation=operation,
        approval_id=approval,
        capability_token=capability,
        request_scope=request.scope if request else None,
    )
    standard = "async" if settings.teg_cross_frame_backend == "async" else "2pc"
    return AskedCrossing(order, payment, request, backend or standard)


@crossing_router.get(
    "/teg/transfers/{transfer_id}",
    responses=problems(Unauthorized, TransferUnknown),
)
async def read_transfer(
    transfer_id: Annotated[UUID, Path()], agent: CurrentAgent, db: Db, config: Config
) -> CrossRegistryTransferState:
    """The decided truth about a transfer between two registries, for its sender or its receiver."""

    async def found(tx: Tx) -> CrossRegistryTransferState:
        sent = await store.sent_row(tx, transfer_id)
        if sent is not None and sent["sender_did"] == agent.did:
            return CrossRegistryTransferState.sent(sent)
        received = await store.received_of(tx, transfer_id, agent.did)
        if received is None:
            raise TransferUnknown
        return CrossRegistryTransferState.received(
            received, ledger.Book.of(config).frame, await store.now(tx)
        )

    return await db.read(found)
