"""Orders over HTTP, for agents that hold `exchange.trade`."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, agent_holding
from hansa.foundation.plumbing.web.idempotency import (
    Answer,
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    answer_once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, TooManyRequests, Unauthorized
from hansa.rooms import agents, ledger, transfers
from hansa.rooms.exchange.errors import ExchangeDisabled, ListingState, ListingUnknown
from hansa.rooms.exchange.schemas import REF_PATTERN

from .acting import PERMISSION
from .ending import cancel_all
from .errors import (
    ClientOrderIdUsed,
    InsufficientPoints,
    ListingHalted,
    OrderEnded,
    OrderTermsInvalid,
    OrderUnknown,
    PostOnly,
    TooManyOrders,
)
from .gathering import ACTS, Acts
from .judging import CancelOrder, PlaceOrder
from .market import portfolio_of
from .market_schemas import PortfolioOut
from .reading import read_order, read_own, read_ref
from .schemas import CancelledOut, OrderIn, OrderOut, OrdersOut, OwnOrdersQuery

router = APIRouter(prefix="/agora", tags=["exchange"], route_class=GuardedRoute)

Trader = Annotated[Agent, agent_holding(PERMISSION)]
OrderingAgent = Annotated[Agent, agent_holding(PERMISSION, or_capability=True)]
ActsOfProcess = Annotated[Acts, Depends(ACTS.given)]
RefInQuery = Annotated[str, Query(pattern=REF_PATTERN, description="Reference of the listing.")]

_READING: tuple[type[Refused], ...] = (Unauthorized, Forbidden, Invalid, TooManyRequests)


@router.post(
    "/orders",
    status_code=201,
    response_model=OrderOut,
    responses=problems(
        Unauthorized,
        Forbidden,
        ledger.InsufficientBalance,
        ExchangeDisabled,
        ledger.AccountSuspended,
        agents.AgentSuspended,
        transfers.ApprovalRequired,
        *agents.PAYMENT_REFUSALS,
        ListingUnknown,
        OrderUnknown,
        ledger.AccountUnknown,
        agents.ApprovalUnknown,
        agents.ApprovalUnusable,
        agents.ApprovalsPending,
        ListingState,
        ListingHalted,
        OrderEnded,
        InsufficientPoints,
        PostOnly,
        ClientOrderIdUsed,
        TooManyOrders,
        OrderTermsInvalid,
        KeyReused,
        KeyInProgress,
        Invalid,
        BodyInvalid,
        TooManyRequests,
    ),
)
async def place_order(
    body: OrderIn,
    agent: OrderingAgent,
    request: Request,
    acts: ActsOfProcess,
    *,
    writes: WriteLimit,
    capability: transfers.CapabilityToken = None,
    key: IdempotencyKey = None,
) -> Response:
    """Buy or sell points. Orders trade by price, then by their number, at the price of the order that rested.

    A resting buy holds its units, a resting sell its points. The seller pays the fee of the listing. An order that reaches one of the same
    owner ends there.
    """
    await writes.admit(agent.did)
    sent = repeatable(agent, request, key, body, exclude={"approval_id"})
    new = body.order(capability, sent.scope if sent else None)
    answer = await acts.carry_out(new.ref, PlaceOrder(agent, new), sent)
    if isinstance(answer, agents.Approval):
        raise transfers.ApprovalRequired(
            context={"approval_id": str(answer.id), "expires_at": answer.expires_at.isoformat()}
        )
    response = answer_once(answer.text, replayed=answer.replayed)
    response.status_code = 201
    return response


@router.get("/orders/mine", dependencies=[Depends(within_read_limit)], responses=problems(*_READING))
async def list_own_orders(agent: Trader, db: Db, query: Annotated[OwnOrdersQuery, Query()]) -> OrdersOut:
    """Orders of the calling agent, the newest first."""
    found = await db.read(
        lambda tx: read_own(
            tx,
            agent.did,
            ref=query.listing,
            status=query.status,
            after=query.next,
            limit=query.limit + 1,
        )
    )
    return OrdersOut.of(found, query.limit)


@router.get(
    "/orders/{order_id}",
    dependencies=[Depends(within_read_limit)],
    responses=problems(*_READING, OrderUnknown),
)
async def read_one_order(order_id: UUID, agent: Trader, db: Db) -> OrderOut:
    """One order of the calling agent."""
    return OrderOut.of(await db.read(lambda tx: read_order(tx, agent.did, order_id)))


@router.delete(
    "/orders/{order_id}",
    response_model=OrderOut,
    responses=problems(*_READING, OrderUnknown, OrderEnded),
)
async def cancel_order(
    order_id: UUID, agent: Trader, acts: ActsOfProcess, db: Db, *, writes: WriteLimit
) -> Response:
    """Cancel an open order: what it holds is free. An order that has ended is refused."""
    await writes.admit(agent.did)
    ref = await db.query(lambda tx: read_ref(tx, agent.did, order_id))
    answer = await acts.carry_out(ref, CancelOrder(agent.did, order_id), None)
    assert isinstance(answer, Answer), "nobody is asked about a cancellation"
    return answer_once(answer.text, replayed=False)


@router.delete("/orders", responses=problems(*_READING, ListingUnknown))
async def cancel_orders(
    listing: RefInQuery, agent: Trader, config: Config, db: Db, *, writes: WriteLimit
) -> CancelledOut:
    """Cancel the open orders of the calling agent at a listing."""
    await writes.admit(agent.did)
    count = await db.transaction(lambda tx: cancel_all(tx, agent.did, listing, config))
    return CancelledOut(cancelled=count)


@router.get("/portfolio", dependencies=[Depends(within_read_limit)], responses=problems(*_READING))
async def read_portfolio(agent: Trader, db: Db) -> PortfolioOut:
    """Points of the calling agent, and the units that its open orders and subscriptions hold."""
    return PortfolioOut.of(await db.read(lambda tx: portfolio_of(tx, agent.did)))
