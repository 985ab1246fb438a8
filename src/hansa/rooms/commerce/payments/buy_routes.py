"""Buying over HTTP: authorize, call, settle and show the answer in one request."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    answer_once,
)
from hansa.foundation.plumbing.web.in_process import CommitAct
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.plumbing.web.sealed_answers import StoredAnswerUnreadable
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized, Unavailable
from hansa.rooms import agents, catalogue, ledger

from . import errors
from .buy_schemas import BuyIn, BuyOut
from .purchase import PURCHASES, ROUTE, Purchases
from .routes import SPENDING_REFUSALS, CapabilityToken, PayingAgent

buy_router = APIRouter(tags=["payments"], route_class=GuardedRoute)

PurchasesOfHere = Annotated[Purchases, Depends(PURCHASES.given)]


@buy_router.post(
    ROUTE,
    response_model=BuyOut,
    responses=problems(
        errors.TargetMalformed,
        Unauthorized,
        ledger.InsufficientBalance,
        errors.PriceAboveMaximum,
        *SPENDING_REFUSALS,
        catalogue.CardUnknown,
        agents.ApprovalUnknown,
        agents.ApprovalUnusable,
        agents.ApprovalsPending,
        Invalid,
        errors.PriceNotPayable,
        errors.ServiceNotCallable,
        StoredAnswerUnreadable,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
        errors.TooManyUnusedTokens,
        Unavailable,
    ),
)
async def buy_call(
    body: BuyIn,
    agent: PayingAgent,
    purchases: PurchasesOfHere,
    config: Config,
    *,
    writes: WriteLimit,
    in_commit: CommitAct,
    key: IdempotencyKey = None,
    capability: CapabilityToken = None,
) -> Response:
    """Pay an agent for one call, and get its answer. When nothing was delivered the token is released."""
    await writes.admit(agent.did)
    request = Repeatable(agent.did, ROUTE, key, body.model_dump(exclude={"approval_id"})) if key else None
    bought, replayed = await purchases.buy(agent, body.order(), request, capability, in_commit)
    out = BuyOut.of(bought, config.settlement_currency)
    return answer_once(out.model_dump_json(), replayed=replayed)
