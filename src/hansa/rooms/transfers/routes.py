"""HTTP doors of transfers."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.caller import CAPABILITY_HEADER, Agent, PermissionMissing, agent_holding
from hansa.foundation.plumbing.database import Database
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
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.words.errors import Forbidden, Invalid, Unauthorized, Unavailable
from hansa.rooms import agents, ledger

from .governed import GovernedTransfer, transfer_governed
from .schemas import ApprovalNeeded, SendIn, SendOut, TransferIn, TransferOut

PERMISSION = "teg.transfer"
TOKEN_MAX_CHARACTERS = 128

router = APIRouter(tags=["transfers"], route_class=DirectRoute)


async def _group_commit_of(request: Request) -> ledger.GroupCommit:
    transfers: ledger.GroupCommit = request.app.state.group_commit
    return transfers


Transfers = Annotated[ledger.GroupCommit, Depends(_group_commit_of)]
TransferringAgent = Annotated[Agent, agent_holding(PERMISSION, or_capability=True)]
CapabilityToken = Annotated[
    str | None,
    Header(
        alias=CAPABILITY_HEADER,
        max_length=TOKEN_MAX_CHARACTERS,
        description="The token of a capability: it may lend the permission, and its caveats bound the payment.",
    ),
]
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
        agents.CapabilityUnknown,
        agents.CapabilityEnded,
        agents.DelegatorMayNot,
        agents.CaveatViolated,
        agents.CapabilityBudgetSpent,
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
    transfers: Transfers,
    db: Db,
    config: Config,
    *,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
    capability: CapabilityToken = None,
) -> Response:
    """Move units to another agent of this registry; the fee is added on top of the amount."""
    order, currency = body.order_by(agent.did), config.settlement_currency
    request = Repeatable(agent.did, "/teg/transfer", key, body.model_dump()) if key else None

    def tell(receipt: ledger.Receipt) -> str:
        return TransferOut.of(receipt, order, currency).model_dump_json()

    if not agents.pays_plainly(agent, capability):
        payment = _payment(order, currency, "teg.transfer", approval, capability)
        return await _governed(db, agent, GovernedTransfer(order, payment, request, tell), config)
    told = await transfers.transfer(order, request, tell)
    return answer_once(told.answer, replayed=told.replayed)


@router.post("/teg/send", response_model=SendOut, responses=ANSWERS)
async def send_units(
    body: SendIn,
    agent: TransferringAgent,
    transfers: Transfers,
    db: Db,
    config: Config,
    *,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
    capability: CapabilityToken = None,
) -> Response:
    """Move units to an agent wherever it is; `dry_run` tells the way and moves nothing."""
    order, book = body.order_by(agent.did), ledger.Book.of(config)
    request = Repeatable(agent.did, "/teg/send", key, body.model_dump()) if key else None
    payment = _payment(order, book.currency, "teg.send", approval, capability)
    is_plain = agents.pays_plainly(agent, capability)

    def tell(receipt: ledger.Receipt) -> str:
        return SendOut.done(receipt, order, book).model_dump_json()

    if body.dry_run:
        needs_approval = not is_plain and await _would_need_approval(db, agent, payment, config)
        planned = SendOut.planned(await transfers.preview(order), order, book, needs_approval=needs_approval)
        return answer_once(planned.model_dump_json(), replayed=False)
    if not is_plain:
        return await _governed(db, agent, GovernedTransfer(order, payment, request, tell), config)
    told = await transfers.transfer(order, request, tell)
    return answer_once(told.answer, replayed=told.replayed)


def _payment(
    order: ledger.TransferOrder,
    currency: str,
    operation: str,
    approval: UUID | None,
    capability: str | None,
) -> agents.Payment:
    return agents.Payment(
        payee=order.payee,
        amount=order.amount,
        currency=currency,
        permission=PERMISSION,
        operation=operation,
        approval_id=approval,
        capability_token=capability,
    )


async def _governed(db: Database, agent: Agent, asked: GovernedTransfer, settings: Settings) -> Response:
    told = await db.act(lambda tx: transfer_governed(tx, agent, asked, settings))
    if isinstance(told, agents.Approval):
        pending = ApprovalNeeded.of(told, settings.settlement_currency)
        return Response(pending.model_dump_json(), status_code=202, media_type="application/json")
    return answer_once(told.answer, replayed=told.replayed)


async def _would_need_approval(
    db: Database, agent: Agent, payment: agents.Payment, settings: Settings
) -> bool:
    clearance = await db.read(lambda tx: agents.preview_payment(tx, agent, payment, settings))
    return clearance is agents.Clearance.NEEDS_APPROVAL
