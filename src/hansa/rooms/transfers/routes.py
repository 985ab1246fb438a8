"""HTTP doors of transfers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
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
from hansa.foundation.plumbing.runtime import Config
from hansa.foundation.words.errors import Forbidden, Invalid, Unauthorized, Unavailable
from hansa.rooms import ledger

from .schemas import SendIn, SendOut, TransferIn, TransferOut

router = APIRouter(tags=["transfers"], route_class=DirectRoute)


async def _group_commit_of(request: Request) -> ledger.GroupCommit:
    transfers: ledger.GroupCommit = request.app.state.group_commit
    return transfers


async def _book_of(settings: Config) -> ledger.Book:
    return ledger.Book.of(settings)


Transfers = Annotated[ledger.GroupCommit, Depends(_group_commit_of)]
BookOfHere = Annotated[ledger.Book, Depends(_book_of)]
TransferringAgent = Annotated[Agent, agent_holding("teg.transfer")]


REFUSALS = problems(
    ledger.SelfTransfer,
    Unauthorized,
    ledger.InsufficientBalance,
    Forbidden,
    PermissionMissing,
    ledger.AccountSuspended,
    ledger.SystemAccountRefused,
    ledger.AccountUnknown,
    Invalid,
    KeyReused,
    KeyInProgress,
    Unavailable,
)


@router.post("/teg/transfer", response_model=TransferOut, responses=REFUSALS)
async def transfer_units(
    body: TransferIn,
    agent: TransferringAgent,
    book: BookOfHere,
    transfers: Transfers,
    key: IdempotencyKey = None,
) -> Response:
    """Move units to another agent of this registry; the fee is added on top of the amount."""
    order = body.order_by(agent.did)
    request = Repeatable(agent.did, "/teg/transfer", key, body.model_dump()) if key else None

    def tell(receipt: ledger.Receipt) -> str:
        return TransferOut.of(receipt, order, book.currency).model_dump_json()

    told = await transfers.transfer(order, request, tell)
    return answer_once(told.answer, replayed=told.replayed)


@router.post("/teg/send", response_model=SendOut, responses=REFUSALS)
async def send_units(
    body: SendIn,
    agent: TransferringAgent,
    book: BookOfHere,
    transfers: Transfers,
    key: IdempotencyKey = None,
) -> Response:
    """Move units to an agent wherever it is; `dry_run` tells the way and moves nothing."""
    order = body.order_by(agent.did)
    if body.dry_run:
        return answer_once(
            SendOut.planned(await transfers.preview(order), order, book).model_dump_json(), replayed=False
        )
    request = Repeatable(agent.did, "/teg/send", key, body.model_dump()) if key else None
    told = await transfers.transfer(
        order, request, lambda receipt: SendOut.done(receipt, order, book).model_dump_json()
    )
    return answer_once(told.answer, replayed=told.replayed)
