"""HTTP routes of agents for transfers to other registries."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, CurrentAgent, agent_holding
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.idempotency import IdempotencyKey, Repeatable, answer_once
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Unauthorized
from hansa.rooms import agents, ledger

from .asking import (
    APPROVAL_NEEDED,
    REFUSALS,
    CapabilityToken,
    SpendApproval,
    approval_answer,
    one_approval,
)
from .crossing import (
    CROSSING_REFUSALS,
    XREG_PERMISSION,
    CrossRegistryTransferIn,
    CrossRegistryTransferOut,
    CrossRegistryTransferState,
    ReceiverIsLocal,
    TransferUnknown,
    across,
    asked_crossing,
    find_crossing,
    not_compared,
)
from .receiver_registry import is_elsewhere

ROUTE = "/teg/cross-registry-transfer"
crossing_router = APIRouter(tags=["transfers"], route_class=DirectRoute)
crossing_state_router = APIRouter(tags=["transfers"], route_class=GuardedRoute)

CrossingAgent = Annotated[Agent, agent_holding(XREG_PERMISSION, or_capability=True)]


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
    """Transfer units to an agent of another registry. Into another currency they are swapped, else there is a border fee."""
    await writes.admit(agent.did)
    runtime = runtime_of(request)
    if not await is_elsewhere(runtime, body.receiver_did):
        raise ReceiverIsLocal
    repeatable = None
    if key is not None:
        repeatable = Repeatable(
            agent.did, ROUTE, key, body.model_dump(mode="json", exclude=not_compared(body))
        )
    asked = asked_crossing(
        runtime.settings,
        body.order_by(agent.did),
        "teg.cross_registry_transfer",
        repeatable,
        backend=body.backend,
        approval=one_approval(body.approval_id, approval),
        capability=capability,
        bounds=body.bounds,
    )
    crossed = await across(runtime, agent, asked)
    if isinstance(crossed, agents.Approval):
        return approval_answer(crossed, runtime.settings.settlement_currency)
    answer = CrossRegistryTransferOut.of(crossed.crossing)
    return answer_once(answer.model_dump_json(), replayed=crossed.replayed)


@crossing_state_router.get(
    "/teg/transfers/{transfer_id}",
    responses=problems(Unauthorized, TransferUnknown),
)
async def read_transfer(
    transfer_id: Annotated[UUID, Path()], agent: CurrentAgent, db: Db, config: Config
) -> CrossRegistryTransferState:
    """The decided truth about a transfer between two registries, for its sender or its receiver."""
    book = ledger.Book.of(config)
    return CrossRegistryTransferState.of(
        await db.read(lambda tx: find_crossing(tx, transfer_id, agent.did, book))
    )
