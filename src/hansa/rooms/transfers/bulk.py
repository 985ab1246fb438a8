"""Many transfers of one payer: each line under a key of its own, each for itself or all of them or none.

- A line that was carried out under its key is not carried out again; its first answer is returned.
- Each for itself: the lines of a plain payer go through the group commit, a part of them at a time, so that single
  transfers do not wait for all. Those of a governed payer are judged and made one after the other.
- All or none: one transaction, in which every line is judged, and counted by the fees of the later ones.

The answer to a bulk, of answers that are text already.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
from fastapi.responses import Response

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Answer, Repeatable, answer_once
from hansa.foundation.values.errors import Forbidden, Refused, Unavailable
from hansa.rooms import agents, ledger

from .governed import GovernedTransfer, transfer_governed
from .schemas import TransfersIn

# Of the lines of one request, so many wait for the group commit at a time.
LINES_AT_ONCE = 100


class ApprovalRequired(Forbidden):
    """The agent's owner has to approve this payment; repeat it once `approval_id` in the context is approved."""

    code = "SPEND_APPROVAL_REQUIRED"
    sentence = "The agent's owner has to approve this payment; then repeat it under the same key."


class Line(msgspec.Struct, frozen=True):
    """One transfer of a bulk; `render` makes its answer of a receipt."""

    order: ledger.TransferOrder
    payment: agents.Payment
    request: Repeatable
    render: Callable[[ledger.Receipt], str]


Outcome: TypeAlias = Answer | Refused
"""What became of a line."""


class Payer(msgspec.Struct, frozen=True):
    """Payer of all lines, and its kind of payment: plain, or judged by a policy or a capability."""

    agent: Agent
    is_plain: bool
    settings: Settings


async def transfer_each(
    database: Database, transfers: ledger.GroupCommit, payer: Payer, lines: Sequence[Line]
) -> list[Outcome]:
    """Carry out each line for itself, in order; a refusal stands in the place of its line.

    Raises: Unavailable when the outcome of a line is not known. Repeated with the same keys, the request completes.
    """
    if not payer.is_plain:
        return [await _outcome_of_governed(database, payer, line) for line in lines]
    outcomes: list[Outcome] = []
    for start in range(0, len(lines), LINES_AT_ONCE):
        part = [
            transfers.transfer(line.order, line.request, line.render)
            for line in lines[start : start + LINES_AT_ONCE]
        ]
        outcomes += [_decided(one) for one in await asyncio.gather(*part, return_exceptions=True)]
    return outcomes


def _decided(outcome: Answer | BaseException) -> Outcome:
    if isinstance(outcome, Answer) or (isinstance(outcome, Refused) and not isinstance(outcome, Unavailable)):
        return outcome
    raise outcome


async def _outcome_of_governed(database: Database, payer: Payer, line: Line) -> Outcome:
    governed = GovernedTransfer(line.order, line.payment, line.request, line.render)
    try:
        answer = await database.transaction(
            lambda tx: transfer_governed(tx, payer.agent, governed, payer.settings)
        )
    except Unavailable:
        raise
    except Refused as refusal:
        return refusal
    return _required(answer) if isinstance(answer, agents.Approval) else answer


async def transfer_all_or_none(database: Database, payer: Payer, lines: Sequence[Line]) -> list[Outcome]:
    """Carry out every line, or none.

    Raises: ledger.OrderRefused, with the first line that is refused; nothing was moved.
    """
    try:
        return await database.transaction(lambda tx: _transfer_all(tx, payer, lines))
    except _ApprovalMissing as missing:
        line = lines[missing.index]
        approval = await database.transaction(lambda tx: _ask(tx, payer, line))
        raise ledger.OrderRefused(missing.index, _required(approval)) from None


async def _transfer_all(tx: Tx, payer: Payer, lines: Sequence[Line]) -> list[Outcome]:
    known = await idempotency.recall_each(tx, [line.request for line in lines])
    walk = _Walk()
    for index, (line, stored) in enumerate(zip(lines, known, strict=True)):
        if isinstance(stored, str):
            walk.outcomes.append(_replayed(line, stored))
            continue
        try:
            await _require_cleared(tx, payer, index, line, stored)
        except (ledger.OrderRefused, _ApprovalMissing) as refusal:
            walk.refusal = refusal
            break
        walk.fresh.append(index)
        walk.outcomes.append(None)
    return await _made(tx, payer, lines, walk)


class _Walk(msgspec.Struct):
    """Lines as far as they are cleared: the outcome of each, those to be made, and why the next line is refused."""

    outcomes: list[Answer | None] = msgspec.field(default_factory=list)
    fresh: list[int] = msgspec.field(default_factory=list)
    refusal: "ledger.OrderRefused | _ApprovalMissing | None" = None


async def _made(tx: Tx, payer: Payer, lines: Sequence[Line], walk: _Walk) -> list[Outcome]:
    """Make the cleared lines. Raises: OrderRefused for the first that is not covered, else the refusal of the walk."""
    book, orders = ledger.Book.of(payer.settings), [lines[index].order for index in walk.fresh]
    try:
        receipts = await ledger.transfer_all(tx, orders, book)
    except ledger.OrderRefused as refused:
        raise ledger.OrderRefused(walk.fresh[refused.index], refused.refusal) from None
    if walk.refusal is not None:
        raise walk.refusal
    made = dict(zip(walk.fresh, receipts, strict=True))
    if made:
        await idempotency.remember_each(
            tx, [(lines[index].request, receipt.as_text()) for index, receipt in made.items()]
        )
    return [
        known or Answer(line.render(made[index]), replayed=False)
        for index, (line, known) in enumerate(zip(lines, walk.outcomes, strict=True))
    ]


class _ApprovalMissing(Exception):
    """The owner has to be asked about the line with this index, in a transaction of its own."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


async def _require_cleared(tx: Tx, payer: Payer, index: int, line: Line, known: Refused | None) -> None:
    if known is not None:
        raise ledger.OrderRefused(index, known)
    if payer.is_plain:
        return
    try:
        clearance = await agents.clear_payment(tx, payer.agent, line.payment, payer.settings)
    except Refused as refusal:
        raise ledger.OrderRefused(index, refusal) from None
    if clearance is agents.Clearance.NEEDS_APPROVAL:
        raise _ApprovalMissing(index)


async def _ask(tx: Tx, payer: Payer, line: Line) -> agents.Approval:
    clearance = await agents.clear_payment(tx, payer.agent, line.payment, payer.settings)
    if clearance is not agents.Clearance.NEEDS_APPROVAL:
        raise Unavailable("The spend policy has just changed; repeat the request.", retry_after=1)
    return await agents.ask_owner(tx, payer.agent, line.payment)


def _required(approval: agents.Approval) -> ApprovalRequired:
    return ApprovalRequired(context={"approval_id": str(approval.id)})


def _replayed(line: Line, kept: str) -> Answer:
    return Answer(line.render(ledger.Receipt.of_text(kept, line.order.amount)), replayed=True)


def bulk_answer(body: TransfersIn, outcomes: Sequence[Outcome]) -> Response:
    """Return the outcome of each line, in order; marked as a replay when every line is one."""
    items = [
        _item(index, line.key, outcome)
        for index, (line, outcome) in enumerate(zip(body.transfers, outcomes, strict=True))
    ]
    refused = sum(isinstance(outcome, Refused) for outcome in outcomes)
    answer = {"items": items, "completed": len(items) - refused, "refused": refused}
    is_replay = all(isinstance(outcome, Answer) and outcome.replayed for outcome in outcomes)
    return answer_once(msgspec.json.encode(answer).decode(), replayed=is_replay)


def _item(index: int, key: str, outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Refused):
        error = {"code": outcome.code, "detail": outcome.detail, "context": outcome.context}
        return {"index": index, "key": key, "status": "refused", "answer": None, "error": error}
    answer = msgspec.Raw(outcome.text.encode())
    return {"index": index, "key": key, "status": "completed", "answer": answer, "error": None}
