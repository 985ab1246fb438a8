"""`/teg/send` to an agent of another registry, as a transfer or as a dry run."""

from typing import Literal

from fastapi.responses import Response

from hansa.foundation.plumbing.caller import Agent, require_permission
from hansa.foundation.plumbing.idempotency import answer_once
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents

from .asking import approval_answer
from .crossing import CrossingRequest, across, corridor_to, preview_crossing, require_receiver
from .schemas import SendOut


async def send_across(
    runtime: Runtime, agent: Agent, crossing_request: CrossingRequest, *, dry_run: bool
) -> Response:
    """The answer to a send whose receiver is elsewhere. Raises: as the transfer, PermissionMissing."""
    settings = runtime.settings
    if crossing_request.payment.capability_token is None:
        # The route asks for the permission of local transfers.
        require_permission(agent, crossing_request.payment.permission, settings.agent_rbac_mode)
    if dry_run:
        return answer_once((await _plan(runtime, agent, crossing_request)).model_dump_json(), replayed=False)
    crossed = await across(runtime, agent, crossing_request)
    if isinstance(crossed, agents.Approval):
        return approval_answer(crossed, settings.settlement_currency)
    return answer_once(SendOut.crossed(crossed.crossing).model_dump_json(), replayed=crossed.replayed)


async def _plan(runtime: Runtime, agent: Agent, crossing_request: CrossingRequest) -> SendOut:
    settings, order, database = runtime.settings, crossing_request.order, runtime.database
    corridor = await database.look(lambda tx: corridor_to(tx, order.payee, runtime))
    clearance = await database.read(
        lambda tx: agents.preview_payment(tx, agent, crossing_request.payment, settings)
    )
    left, terms = await database.act(
        lambda tx: preview_crossing(tx, corridor, order, crossing_request.bounds)
    )
    await require_receiver(runtime, corridor, order.payee)
    method: Literal["fx", "async", "2pc"] = "async" if crossing_request.backend == "async" else "2pc"
    detail = "The receiver is on another registry; nothing was moved."
    if clearance is agents.Clearance.NEEDS_APPROVAL:
        detail += " The agent's owner would have to approve."
    return SendOut(
        method="fx" if corridor.currency_received else method,
        status="dry_run",
        transfer_id=None,
        currency_sent=corridor.book.currency,
        currency_received=corridor.currency_received or corridor.book.currency,
        amount_received=format_amount(terms.net),
        fee_amount=format_amount(terms.estimated_fee),
        new_sender_balance=format_amount(left),
        receiver_registry=corridor.frame,
        detail=detail,
    )
