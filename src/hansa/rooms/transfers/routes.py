"""HTTP doors of transfers."""

from collections.abc import Awaitable, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.caller import Agent, agent_holding
from hansa.foundation.plumbing.changed_caller import confirm_caller
from hansa.foundation.plumbing.database import Database
from hansa.foundation.plumbing.direct import DirectRoute
from hansa.foundation.plumbing.idempotency import (
    IdempotencyKey,
    Repeatable,
    answer_once,
)
from hansa.foundation.plumbing.limits import WriteLimit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import (
    Refused,
)
from hansa.rooms import agents, ledger
from hansa.rooms.federation import FrameSilent

from .asking import (
    APPROVAL_NEEDED,
    REFUSALS,
    AccountRevoked,
    CapabilityToken,
    SpendApproval,
    approval_answer,
    one_approval,
)
from .bulk import (
    ApprovalRequired,
    Line,
    Outcome,
    Payer,
    transfer_all_or_none,
    transfer_each,
)
from .bulk_answer import bulk_answer
from .crossing import (
    CROSSING_REFUSALS,
    ReceiverIsForeign,
    asked_crossing,
    bounds_of,
    not_compared,
)
from .governed import GovernedTransfer, transfer_governed
from .homes import is_elsewhere, names_another_issuer, peer_of
from .pools import NotASwap
from .schemas import (
    SendIn,
    SendOut,
    TransferIn,
    TransferLine,
    TransferOut,
    TransfersIn,
    TransfersOut,
)
from .send_across import send_across

PERMISSION = "teg.transfer"

router = APIRouter(tags=["transfers"], route_class=DirectRoute)


Transfers = Annotated[ledger.GroupCommit, Depends(ledger.GROUP_COMMIT.given)]
TransferringAgent = Annotated[Agent, agent_holding(PERMISSION, or_capability=True)]
ComparedPayer = Annotated[Agent, agent_holding(PERMISSION, or_capability=True, is_compared=True)]
TRANSFER_ANSWERS = {202: APPROVAL_NEEDED, **problems(*REFUSALS, FrameSilent, ReceiverIsForeign)}
SEND_ANSWERS = {202: APPROVAL_NEEDED, **problems(*REFUSALS, *CROSSING_REFUSALS)}
BULK_ANSWERS = problems(*REFUSALS, ApprovalRequired)


@router.post("/teg/transfer", response_model=TransferOut, responses=TRANSFER_ANSWERS)
async def transfer_units(
    body: TransferIn,
    agent: ComparedPayer,
    transfers: Transfers,
    db: Db,
    config: Config,
    *,
    http: Request,
    writes: WriteLimit,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
    capability: CapabilityToken = None,
) -> Response:
    """Transfer units to another agent of this registry; the fee is added to the amount."""
    await writes.admit(agent.did)
    if names_another_issuer(body.receiver_agent_id, config):
        await _require_no_peer(db, body.receiver_agent_id, config)
    order, currency = body.order_by(agent.did), config.settlement_currency
    request = _repeatable(agent, "/teg/transfer", key, body)

    def render(receipt: ledger.Receipt) -> str:
        return TransferOut.json_of(receipt, order, currency)

    made: Awaitable[ledger.OrderAnswer | agents.Approval]
    if agents.pays_plainly(agent, capability):
        made = transfers.transfer(order, request, render, agent.version)
    else:
        await confirm_caller(http)
        shown = one_approval(body.approval_id, approval)
        payment = _payment(
            order, currency, "teg.transfer", approval=shown, capability=capability, request=request
        )
        made = _governed(db, agent, GovernedTransfer(order, payment, request, render), config)
    try:
        return await _answer_to(db, order, made, currency)
    except ledger.AccountUnknown:
        if await is_elsewhere(runtime_of(http), order.payee):
            await _require_no_peer(db, order.payee, config)
        raise


@router.post("/teg/send", response_model=SendOut, responses=SEND_ANSWERS)
async def send_units(
    body: SendIn,
    agent: TransferringAgent,
    transfers: Transfers,
    db: Db,
    config: Config,
    *,
    http: Request,
    writes: WriteLimit,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
    capability: CapabilityToken = None,
) -> Response:
    """Transfer units to an agent of any registry; `dry_run` returns the route and transfers nothing."""
    await writes.admit(agent.did)
    order, book = body.order_by(agent.did), ledger.Book.of(config)
    request = _repeatable(agent, "/teg/send", key, body)
    shown = one_approval(body.approval_id, approval)
    bounds = bounds_of(body.min_amount_out, body.quote_id)

    async def sent_across() -> Response:
        asked = asked_crossing(
            config,
            order,
            "teg.send",
            request,
            backend=body.backend,
            approval=shown,
            capability=capability,
            bounds=bounds,
        )
        return await send_across(runtime_of(http), agent, asked, dry_run=body.dry_run)

    if names_another_issuer(order.payee, config) and await _has_peer(db, order.payee, config):
        return await sent_across()
    if bounds.are_stated:
        raise NotASwap
    payment = _payment(
        order, book.currency, "teg.send", approval=shown, capability=capability, request=request
    )
    is_plain = agents.pays_plainly(agent, capability)

    def render(receipt: ledger.Receipt) -> str:
        return SendOut.done(receipt, order, book).model_dump_json()

    async def planned() -> ledger.OrderAnswer:
        needs_approval = not is_plain and await _would_need_approval(db, agent, payment, config)
        preview = await transfers.preview(order)
        plan = SendOut.planned(preview, order, book, needs_approval=needs_approval)
        return ledger.OrderAnswer(plan.model_dump_json(), replayed=False)

    made: Awaitable[ledger.OrderAnswer | agents.Approval]
    if body.dry_run:
        made = planned()
    elif is_plain:
        made = transfers.transfer(order, request, render)
    else:
        made = _governed(db, agent, GovernedTransfer(order, payment, request, render), config)
    try:
        return await _answer_to(db, order, made, book.currency)
    except ledger.AccountUnknown:
        # Within one trust domain the DID does not say at which registry the agent is.
        is_known = await is_elsewhere(runtime_of(http), order.payee)
        if not is_known or not await _has_peer(db, order.payee, config):
            raise
    return await sent_across()


@router.post("/teg/transfers", response_model=TransfersOut, responses=BULK_ANSWERS)
async def transfer_many(
    body: TransfersIn,
    agent: TransferringAgent,
    transfers: Transfers,
    db: Db,
    config: Config,
    *,
    writes: WriteLimit,
    capability: CapabilityToken = None,
) -> Response:
    """Move units to many agents of this registry: each line for itself, or with `atomic` all or none."""
    await writes.admit(agent.did)
    payer = Payer(agent, agents.pays_plainly(agent, capability), config)
    lines = [_line(agent, line, capability, config.settlement_currency) for line in body.transfers]
    if not body.atomic:
        outcomes = await transfer_each(db, transfers, payer, lines)
        return bulk_answer(body, await _named(db, lines, outcomes))
    try:
        return bulk_answer(body, await transfer_all_or_none(db, payer, lines))
    except ledger.OrderRefused as refused:
        (refusal,) = await _named(db, [lines[refused.index]], [refused.refusal])
        assert isinstance(refusal, Refused)
        key = body.transfers[refused.index].key
        refusal.context = {**(refusal.context or {}), "index": refused.index, "key": key}
        raise refusal from refused


async def _has_peer(db: Database, did: str, settings: Settings) -> bool:
    return await db.look(lambda tx: peer_of(tx, did, settings)) is not None


async def _require_no_peer(db: Database, did: str, settings: Settings) -> None:
    """Raises: ReceiverIsForeign."""
    if await _has_peer(db, did, settings):
        raise ReceiverIsForeign


def _line(agent: Agent, line: TransferLine, capability: str | None, currency: str) -> Line:
    order = line.order_by(agent.did)
    request = Repeatable(agent.did, "/teg/transfers", line.key, line.model_dump(exclude={"key"}))
    payment = _payment(order, currency, "teg.transfer", approval=None, capability=capability, request=request)

    def render(receipt: ledger.Receipt) -> str:
        return TransferOut.json_of(receipt, order, currency)

    return Line(order, payment, request, render)


async def _named(db: Database, lines: Sequence[Line], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes, where a payee that was revoked is refused as revoked."""
    payees = {
        line.order.payee
        for line, outcome in zip(lines, outcomes, strict=True)
        if isinstance(outcome, ledger.AccountSuspended)
    }
    if not payees:
        return list(outcomes)
    statuses = await db.read(lambda tx: agents.statuses_of(tx, sorted(payees)))
    return [
        _revoked(line.order.payee)
        if isinstance(outcome, ledger.AccountSuspended) and statuses.get(line.order.payee) == "revoked"
        else outcome
        for line, outcome in zip(lines, outcomes, strict=True)
    ]


def _revoked(payee: str) -> AccountRevoked:
    return AccountRevoked(f"The agent {payee} is revoked and cannot receive units.")


def _repeatable(agent: Agent, route: str, key: str | None, body: BaseModel) -> Repeatable | None:
    """The request under its key. Which approval it names is not part of what is to be done."""
    if key is None:
        return None
    return Repeatable(agent.did, route, key, body.model_dump(exclude=not_compared(body)))


def _payment(
    order: ledger.TransferOrder,
    currency: str,
    operation: str,
    *,
    approval: UUID | None,
    capability: str | None,
    request: Repeatable | None,
) -> agents.Payment:
    return agents.Payment(
        payee=order.payee,
        amount=order.amount,
        currency=currency,
        permission=PERMISSION,
        operation=operation,
        approval_id=approval,
        capability_token=capability,
        request_scope=request.scope if request else None,
    )


async def _answer_to(
    db: Database,
    order: ledger.TransferOrder,
    outcome: Awaitable[ledger.OrderAnswer | agents.Approval],
    currency: str,
) -> Response:
    """The response to a transfer that was made, planned or put before the owner. Raises: AccountRevoked."""
    try:
        result = await outcome
    except ledger.AccountSuspended as refusal:
        # The book knows that the account is closed; why, the agents' room knows.
        statuses = await db.read(lambda tx: agents.statuses_of(tx, [order.payee]))
        if statuses.get(order.payee) == "revoked":
            raise _revoked(order.payee) from refusal
        raise
    if isinstance(result, agents.Approval):
        return approval_answer(result, currency)
    return answer_once(result.answer, replayed=result.replayed)


async def _governed(
    db: Database, agent: Agent, asked: GovernedTransfer, settings: Settings
) -> ledger.OrderAnswer | agents.Approval:
    return await db.act(lambda tx: transfer_governed(tx, agent, asked, settings))


async def _would_need_approval(
    db: Database, agent: Agent, payment: agents.Payment, settings: Settings
) -> bool:
    clearance = await db.read(lambda tx: agents.preview_payment(tx, agent, payment, settings))
    return clearance is agents.Clearance.NEEDS_APPROVAL
