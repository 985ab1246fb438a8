"""Approval of submitted work: the amount that the caller names must be the amount that is due."""

from typing import Any

from hansa.foundation.plumbing.web.in_process import InnerCall
from hansa.foundation.values.errors import Conflict
from hansa.foundation.values.money import parse_amount

from . import inputs
from .answers import Shaped, shaped
from .exchange import Exchange
from .refusals import approval_required, of_answer

CONTRACTS = "/api/v1/contracts"
PLACES = (
    "/title",
    "/terms",
    "/acceptance_criteria",
    "/milestones/*/title",
    "/deliverables",
    "/history/*/note",
)


class AmountNotDue(Conflict):
    """The named amount is not the amount that the approval would pay."""

    code = "AMOUNT_NOT_DUE"
    remedy = "Read the contract, then name the amount that is due, and the milestone where it has milestones."


async def approve_work(exchange: Exchange, given: inputs.ApproveWork) -> Shaped:
    """Approve and pay. Amounts of a contract never change after its proposal. Raises: AmountNotDue."""
    agent = await exchange.caller.acting(exchange.runtime, given.as_)
    path = f"{CONTRACTS}/{given.contract_id}"
    contract = await exchange.ask(InnerCall("GET", path), agent)
    if contract.is_refusal:
        return of_answer(contract)
    due = _due(contract.content, given.milestone)
    if parse_amount(given.amount) != parse_amount(due):
        raise AmountNotDue(f"The amount that is due is {due}, not {given.amount}.", context={"due": due})
    body = {} if given.milestone is None else {"milestone": given.milestone}
    call = InnerCall("POST", f"{path}/approve-completion", body=body, key=given.request_id)
    answer = await exchange.ask(call, agent)
    waiting = approval_required(exchange.runtime.settings.base_url, answer)
    if waiting is not None:
        return shaped(waiting, ())
    return of_answer(answer) if answer.is_refusal else shaped(answer.content, PLACES)


def _due(contract: dict[str, Any], milestone: int | None) -> str:
    """Raises: AmountNotDue."""
    milestones = contract["milestones"]
    if not milestones and milestone is None:
        return str(contract["amount"])
    if milestone is None or milestone >= len(milestones):
        raise AmountNotDue(f"The contract has {len(milestones)} milestones: name the one that is due.")
    return str(milestones[milestone]["amount"])
