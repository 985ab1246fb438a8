"""Flares over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    Agent,
    CurrentAgent,
    PermissionMissing,
    Public,
    agent_holding,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    answer_once,
    once,
    recall,
    remember,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.rooms import agents, catalogue, ledger, transfers

from .errors import FlareNotOwned, FlareOwned, FlarePriceChanged, FlareUnknown, SelectionInvalid
from .prices import prices_of
from .purchasing import PERMISSION, buy_flare
from .schemas import FlareOut, FlarePurchaseIn, FlarePurchaseOut, SelectionIn, SelectionOut
from .selecting import flares_of, select_flares

router = APIRouter(prefix="/achievements/flares", tags=["achievements"], route_class=GuardedRoute)

PayingAgent = Annotated[Agent, agent_holding(PERMISSION, or_capability=True)]


@router.get("", dependencies=[Depends(within_read_limit)], responses=problems(TooManyRequests))
async def list_flares(config: Config, _: Public) -> list[FlareOut]:
    """List the flares that this registry sells, with their prices."""
    return [FlareOut.of(flare) for flare in prices_of(config)]


@router.post(
    "/purchase",
    response_model=FlarePurchaseOut,
    responses={
        202: transfers.APPROVAL_NEEDED,
        **problems(
            Unauthorized,
            ledger.InsufficientBalance,
            PermissionMissing,
            ledger.AccountSuspended,
            *agents.PAYMENT_REFUSALS,
            FlareUnknown,
            agents.ApprovalUnknown,
            FlareOwned,
            FlarePriceChanged,
            agents.ApprovalUnusable,
            agents.ApprovalsPending,
            Invalid,
            BodyInvalid,
            KeyReused,
            KeyInProgress,
            TooManyRequests,
        ),
    },
)
async def purchase_flare(
    body: FlarePurchaseIn,
    agent: PayingAgent,
    db: Db,
    config: Config,
    *,
    request: Request,
    writes: WriteLimit,
    key: IdempotencyKey = None,
    approval: transfers.SpendApproval = None,
    capability: transfers.CapabilityToken = None,
) -> Response:
    """Buy a flare with one payment to the treasury; the fee is added to the price. An agent buys each flare once.

    Its spend policy judges the payment as any other. Flares change no reputation.
    """
    await writes.admit(agent.did)
    sent = repeatable(agent, request, key, body, exclude={"approval_id"})
    shown = transfers.one_approval(body.approval_id, approval)
    order = body.order(shown, capability, sent.scope if sent else None)

    async def bought(tx: Tx) -> tuple[str, bool] | agents.Approval:
        if sent and (known := await recall(tx, sent)) is not None:
            return known, True
        made = await buy_flare(tx, agent, order, config)
        if isinstance(made, agents.Approval):
            return made
        answer = FlarePurchaseOut.of(made, config.settlement_currency).model_dump_json()
        if sent:
            await remember(tx, sent, answer)
        return answer, False

    outcome = await db.transaction(bought)
    if isinstance(outcome, agents.Approval):
        return transfers.approval_answer(outcome, config.settlement_currency)
    return answer_once(outcome[0], replayed=outcome[1])


@router.get("/selection", responses=problems(Unauthorized))
async def read_selection(agent: CurrentAgent, db: Db) -> SelectionOut:
    """The flares that the agent shows, and those that it bought."""
    return SelectionOut.of(await db.query(lambda tx: flares_of(tx, agent.did)))


@router.put(
    "/selection",
    response_model=SelectionOut,
    responses=problems(
        Unauthorized,
        FlareNotOwned,
        SelectionInvalid,
        Invalid,
        BodyInvalid,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
    ),
)
async def select_shown_flares(
    body: SelectionIn,
    agent: CurrentAgent,
    db: catalogue.CardWrites,
    *,
    request: Request,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Show these flares on the card of the agent, and no others. While it shows an encirclement, searches find it as encircled."""
    await writes.admit(agent.did)

    async def selected(tx: Tx) -> SelectionOut:
        return SelectionOut.of(await select_flares(tx, agent.did, body.chosen))

    return await once(db, repeatable(agent, request, key, body), selected)
