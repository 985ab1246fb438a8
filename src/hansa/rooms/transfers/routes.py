"""HTTP doors of transfers."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.caller import Agent, PermissionMissing, agent_holding
from hansa.foundation.plumbing.direct import DirectRoute
from hansa.foundation.plumbing.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    answer_once,
)
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.words.errors import Forbidden, Invalid, Unauthorized, Unavailable
from hansa.rooms import agents, ledger

from .governed import GovernedTransfer, transfer_governed
from .schemas import ApprovalNeeded, SendIn, SendOut, TransferIn, TransferOut

router = APIRouter(tags=["transfers"], route_class=DirectRoute)


async def _group_commit_of(request: Request) -> ledger.GroupCommit:
    transfers: ledger.GroupCommit = request.app.state.group_commit
    return transfers


async def _book_of(settings: Config) -> ledger.Book:
    return ledger.Book.of(settings)


Transfers = Annotated[ledger.GroupCommit, Depends(_group_commit_of)]
BookOfHere = Annotated[ledger.Book, Depends(_book_of)]
TransferringAgent = Annotated[Agent, agent_holding("teg.transfer")]
SpendApproval = Annotated[
    UUID | None,
    Header(
        alias="X-Spend-Approval",
        description="The approval of the agent's owner for this receiver and amount; each is good for one payment.",
    ),
]

ANSWERS = {
    202: {
        "model": ApprovalNeeded,
        "description": "The agent's owner has to approve; nothing was moved. Repeat with X-Spend-Approval.",
    },
    **problems(
        ledger.SelfTransfer,
        Unauthorized,
        ledger.InsufficientBalance,
        Forbidden,
        PermissionMissing,
        ledger.AccountSuspended,
        ledger.SystemAccountRefused,
        agents.PayeeNotAllowed,
        agents.OverPaymentLimit,
        agents.OverDayLimit,
        agents.ApprovalForAnother,
        ledger.AccountUnknown,
        agents.ApprovalUnknown,
        agents.ApprovalUnusable,
        agents.ApprovalsPending,
        Invalid,
        KeyReused,
        KeyInProgress,
        Unavailable,
    ),
}


@router.post("/teg/transfer", response_model=TransferOut, responses=ANSWERS)
async def transfer_units(
    body: TransferIn,
    agent: TransferringAgent,
    book: BookOfHere,
    transfers: Transfers,
    db: Db,
    *,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
) -> Response:
    """Move units to another agent of this registry; the fee is added on top of the amount."""
    order = body.order_by(agent.did)
    request = Repeatable(agent.did, "/teg/transfer", key, body.model_dump()) if key else None

    def tell(receipt: ledger.Receipt) -> str:
        return TransferOut.of(receipt, order, book.currency).model_dump_json()

    if agent.is_governed:
        return await _governed(db, GovernedTransfer(order, _spending(order, approval), request, tell), book)
    told = await transfers.transfer(order, request, tell)
    return answer_once(told.answer, replayed=told.replayed)


@router.post("/teg/send", response_model=SendOut, responses=ANSWERS)
async def send_units(
    body: SendIn,
    agent: TransferringAgent,
    book: BookOfHere,
    transfers: Transfers,
    db: Db,
    *,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
) -> Response:
    """Move units to an agent wherever it is; `dry_run` tells the way and moves nothing."""
    order = body.order_by(agent.did)
    spending = _spending(order, approval)
    if body.dry_run:
        needs_approval = agent.is_governed and await _would_need_approval(db, spending, agent.did)
        planned = SendOut.planned(await transfers.preview(order), order, book, needs_approval=needs_approval)
        return answer_once(planned.model_dump_json(), replayed=False)
    request = Repeatable(agent.did, "/teg/send", key, body.model_dump()) if key else None

    def tell(receipt: ledger.Receipt) -> str:
        return SendOut.done(receipt, order, book).model_dump_json()

    if agent.is_governed:
        return await _governed(db, GovernedTransfer(order, spending, request, tell), book)
    told = await transfers.transfer(order, request, tell)
    return answer_once(told.answer, replayed=told.replayed)


def _spending(order: ledger.TransferOrder, approval: UUID | None) -> agents.Spending:
    return agents.Spending(order.payee, order.amount, approval)


async def _governed(db: Db, asked: GovernedTransfer, book: ledger.Book) -> Response:
    told = await db.act(lambda tx: transfer_governed(tx, asked, book))
    if isinstance(told, agents.Approval):
        pending = ApprovalNeeded.of(told, book.currency)
        return Response(pending.model_dump_json(), status_code=202, media_type="application/json")
    return answer_once(told.answer, replayed=told.replayed)


async def _would_need_approval(db: Db, spending: agents.Spending, did: str) -> bool:
    clearance = await db.read(lambda tx: agents.preview_spending(tx, did, spending))
    return clearance is agents.Clearance.NEEDS_APPROVAL
