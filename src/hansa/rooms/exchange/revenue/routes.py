"""Distributions and points of the calling agent over HTTP, for agents that hold `exchange.trade`."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, agent_holding
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, TooManyRequests, Unauthorized
from hansa.rooms import agents, ledger
from hansa.rooms.exchange.errors import ExchangeDisabled, ListingState, ListingUnknown

from .errors import PointsOffered, PointsOfOthers, PointsToSelf
from .moving import move_points
from .paying import claim
from .schemas import ClaimDistributionsIn, MovedPointsOut, PaidOut, PointTransferIn

router = APIRouter(prefix="/agora", tags=["exchange"], route_class=GuardedRoute)

PERMISSION = "exchange.trade"
Trader = Annotated[Agent, agent_holding(PERMISSION)]

_ACTING: tuple[type[Refused], ...] = (
    Unauthorized,
    Forbidden,
    agents.AgentSuspended,
    ListingUnknown,
    KeyReused,
    KeyInProgress,
    Invalid,
    BodyInvalid,
    TooManyRequests,
)


@router.post(
    "/distributions/claim",
    response_model=PaidOut,
    responses=problems(*_ACTING, ledger.AccountSuspended),
)
async def claim_distributions(
    body: ClaimDistributionsIn,
    agent: Trader,
    request: Request,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Pay the agent what it is owed of the revenue of one listing, or of all. From 0.01 units on this is paid each day without a claim."""
    await writes.admit(agent.did)

    async def claimed(tx: Tx) -> PaidOut:
        return PaidOut.of(await claim(tx, agent, body.ref, config))

    return await once(db, repeatable(agent, request, key, body), claimed)


@router.post(
    "/points/transfer",
    response_model=MovedPointsOut,
    responses=problems(*_ACTING, ExchangeDisabled, PointsOfOthers, PointsToSelf, ListingState, PointsOffered),
)
async def transfer_points(
    body: PointTransferIn,
    agent: Trader,
    request: Request,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Transfer points to another agent of the same owner, or give them up for good. What was distributed for them before stays owed to the agent."""
    await writes.admit(agent.did)

    async def moved(tx: Tx) -> MovedPointsOut:
        return MovedPointsOut.of(await move_points(tx, agent, body.transfer(), config))

    return await once(db, repeatable(agent, request, key, body), moved)
