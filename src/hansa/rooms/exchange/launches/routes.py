"""Subscriptions of launches over HTTP, for agents that hold `exchange.trade`."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, agent_holding
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    answer_once,
    recall,
    remember,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, TooManyRequests, Unauthorized
from hansa.rooms import agents, federation, ledger, organizations, transfers
from hansa.rooms.exchange.errors import ExchangeDisabled, ListingUnknown
from hansa.rooms.exchange.schemas import RefInPath

from .errors import (
    LaunchNotOpen,
    OwnerMaximum,
    RelatedToSeller,
    SubscriptionEnded,
    SubscriptionExists,
    SubscriptionUnknown,
)
from .schemas import SubscriptionIn, SubscriptionOut
from .subscribing import PERMISSION, cancel, read, subscribe

router = APIRouter(prefix="/agora/listings/{ref}/launch/buy", tags=["exchange"], route_class=GuardedRoute)

Trader = Annotated[Agent, agent_holding(PERMISSION)]
Buyer = Annotated[Agent, agent_holding(PERMISSION, or_capability=True)]

_ACTING: tuple[type[Refused], ...] = (Unauthorized, Forbidden, TooManyRequests, ListingUnknown, Invalid)


@router.post(
    "",
    status_code=201,
    response_model=SubscriptionOut,
    responses=problems(
        *_ACTING,
        KeyReused,
        KeyInProgress,
        ExchangeDisabled,
        LaunchNotOpen,
        RelatedToSeller,
        SubscriptionExists,
        OwnerMaximum,
        organizations.LimitReached,
        federation.ActParked,
        federation.AuthorizationsUnreadable,
        ledger.InsufficientBalance,
        ledger.AccountSuspended,
        transfers.ApprovalRequired,
        *agents.PAYMENT_REFUSALS,
        agents.ApprovalUnknown,
        agents.ApprovalUnusable,
        agents.ApprovalsPending,
        BodyInvalid,
    ),
)
async def subscribe_to_launch(
    ref: RefInPath,
    body: SubscriptionIn,
    agent: Buyer,
    request: Request,
    db: Db,
    *,
    writes: WriteLimit,
    capability: transfers.CapabilityToken = None,
    key: IdempotencyKey = None,
) -> Response:
    """Subscribe to a launch at its fixed price, which is held for every point until the launch closes.

    Where more is subscribed than there is, everybody gets a share: speed wins nothing. The subscription is sealed until then.
    """
    await writes.admit(agent.did)
    sent = repeatable(agent, request, key, body, exclude={"approval_id"})
    new = body.subscription(capability, sent.scope if sent else None)

    async def subscribed(tx: Tx) -> tuple[str, bool] | agents.Approval:
        if sent and (known := await recall(tx, sent)) is not None:
            return known, True
        made = await subscribe(tx, agent, ref, new, runtime_of(request))
        if isinstance(made, agents.Approval):
            return made
        answer = SubscriptionOut.of(made).model_dump_json()
        if sent:
            await remember(tx, sent, answer)
        return answer, False

    outcome = await db.transaction(subscribed)
    if isinstance(outcome, agents.Approval):
        raise transfers.ApprovalRequired(
            context={"approval_id": str(outcome.id), "expires_at": outcome.expires_at.isoformat()}
        )
    answer = answer_once(outcome[0], replayed=outcome[1])
    answer.status_code = 201
    return answer


@router.get("", responses=problems(*_ACTING, SubscriptionUnknown))
async def read_subscription(ref: RefInPath, agent: Trader, db: Db) -> SubscriptionOut:
    """The newest own subscription to a launch."""
    return SubscriptionOut.of(await db.read(lambda tx: read(tx, agent, ref)))


@router.delete("", responses=problems(*_ACTING, SubscriptionUnknown, SubscriptionEnded))
async def cancel_subscription(
    ref: RefInPath, agent: Trader, request: Request, db: Db, *, writes: WriteLimit
) -> SubscriptionOut:
    """Cancel the own subscription while the launch is open. What was held is free at once."""
    await writes.admit(agent.did)
    runtime = runtime_of(request)
    return SubscriptionOut.of(await db.transaction(lambda tx: cancel(tx, agent, ref, runtime)))
