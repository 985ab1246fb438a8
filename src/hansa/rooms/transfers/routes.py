"""HTTP doors of transfers."""

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import Response

from hansa.foundation.plumbing.bodies import GuardedRoute
from hansa.foundation.plumbing.caller import Agent, PermissionMissing, agent_holding
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.idempotency import IdempotencyKey, KeyInProgress, KeyReused, Repeatable, once
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.words.errors import Forbidden, Invalid, Unauthorized
from hansa.rooms import ledger

from .schemas import TransferIn, TransferOut

router = APIRouter(tags=["transfers"], route_class=GuardedRoute)

TransferringAgent = Annotated[Agent, agent_holding("teg.transfer")]


@router.post(
    "/teg/transfer",
    response_model=TransferOut,
    responses=problems(
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
    ),
)
async def transfer_units(
    body: TransferIn, agent: TransferringAgent, db: Db, settings: Config, key: IdempotencyKey = None
) -> Response:
    """Move units to another agent of this registry; the fee is added on top of the amount."""
    book = ledger.Book.of(settings)
    order = body.order_by(agent.did)
    request = Repeatable(agent.did, "/teg/transfer", key, body.model_dump()) if key else None

    async def transfer(tx: Tx) -> TransferOut:
        receipt = await ledger.transfer(tx, order, book, ledger.FeePolicy())
        return TransferOut.of(receipt, order, book.currency)

    return await once(db, request, transfer)
