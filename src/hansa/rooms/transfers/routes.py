"""HTTP doors of transfers."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Agent, agent_holding
from hansa.foundation.plumbing.web.changed_caller import confirm_caller
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    Repeatable,
    answer_once,
)
from hansa.foundation.plumbing.web.in_process import CommitAct
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import (
    Refused,
)
from hansa.rooms import agents, ledger
from hansa.rooms.federation import FrameUnavailable

from .asking import (
    APPROVAL_NEEDED,
    REFUSALS,
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
    bulk_answer,
    transfer_all_or_none,
    transfer_each,
)
from .crossing import (
    CROSSING_REFUSALS,
    ReceiverIsForeign,
    asked_crossing,
    bounds_of,
    not_compared,
)
from .governed import GovernedTransfer
from .schemas import (
    SendIn,
    SendOut,
    TransferIn,
    TransferLine,
    TransferOut,
    TransfersIn,
    TransfersOut,
)
from .transfer import Made, require_receiver_here, revoked_among, send, transfer_here

PERMISSION = "teg.transfer"

router = APIRouter(tags=["transfers"], route_class=DirectRoute)


Transfers = Annotated[ledger.GroupCommit, Depends(ledger.GROUP_COMMIT.given)]
TransferringAgent = Annotated[Agent, agent_holding(PERMISSION, or_capability=True)]
ComparedPayer = Annotated[Agent, agent_holding(PERMISSION, or_capability=True, is_compared=True)]
TRANSFER_ANSWERS = {202: APPROVAL_NEEDED, **problems(*REFUSALS, FrameUnavailable, ReceiverIsForeign)}
SEND_ANSWERS = {202: APPROVAL_NEEDED, **problems(*REFUSALS, *CROSSING_REFUSALS)}
BULK_ANSWERS = problems(*REFUSALS, ApprovalRequired)


@router.post("/teg/transfer", response_model=TransferOut, responses=TRANSFER_ANSWERS)
async def transfer_units(
    body: TransferIn,
    agent: ComparedPayer,
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
    await require_receiver_here(db, body.receiver_agent_id, config)
    order, currency = body.order_by(agent.did), config.settlement_currency
    request = _repeatable(agent, "/teg/transfer", key, body)

    def render(receipt: ledger.Receipt) -> str:
        return TransferOut.json_of(receipt, order, currency)

    shown = None
    if not (is_plain := agents.pays_plainly(agent, capability)):
        await confirm_caller(http)
        shown = one_approval(body.approval_id, approval)
    payment = _payment(
        order, currency, "teg.transfer", approval=shown, capability=capability, request=request
    )
    asked = GovernedTransfer(order, payment, request, render)
    return _answer_to(await transfer_here(runtime_of(http), agent, asked, is_plain=is_plain), currency)


@router.post("/teg/send", response_model=SendOut, responses=SEND_ANSWERS)
async def send_units(
    body: SendIn,
    agent: TransferringAgent,
    config: Config,
    *,
    http: Request,
    writes: WriteLimit,
    in_commit: CommitAct,
    key: IdempotencyKey = None,
    approval: SpendApproval = None,
    capability: CapabilityToken = None,
) -> Response:
    """Transfer units to an agent of any registry; `dry_run` returns the route and transfers nothing."""
    await writes.admit(agent.did)
    order, book = body.order_by(agent.did), ledger.Book.of(config)
    request = _repeatable(agent, "/teg/send", key, body)
    shown = one_approval(body.approval_id, approval)

    def render(receipt: ledger.Receipt) -> str:
        return SendOut.done(receipt, order, book).model_dump_json()

    payment = _payment(
        order, book.currency, "teg.send", approval=shown, capability=capability, request=request
    )
    crossing = asked_crossing(
        config,
        order,
        "teg.send",
        request,
        backend=body.backend,
        approval=shown,
        capability=capability,
        bounds=bounds_of(body.min_amount_out, body.quote_id),
        in_commit=in_commit,
    )
    made = await send(
        runtime_of(http),
        agent,
        GovernedTransfer(order, payment, request, render, in_commit),
        crossing,
        is_plain=in_commit is None and agents.pays_plainly(agent, capability),
        dry_run=body.dry_run,
    )
    return _answer_to(made, book.currency)


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
    revoked = await revoked_among(db, payees)
    return [
        revoked.get(line.order.payee, outcome) if isinstance(outcome, ledger.AccountSuspended) else outcome
        for line, outcome in zip(lines, outcomes, strict=True)
    ]


def _repeatable(agent: Agent, route: str, key: str | None, body: BaseModel) -> Repeatable | None:
    """Return the request under its key. The approval that it names is not part of the compared request."""
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


def _answer_to(made: Made, currency: str) -> Response:
    if isinstance(made, agents.Approval):
        return approval_answer(made, currency)
    return answer_once(made.text, replayed=made.replayed)
