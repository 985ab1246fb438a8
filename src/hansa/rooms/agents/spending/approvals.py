"""Payments over the limit of an agent: its owner approves or denies each of them."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.events import SpendApprovalRequested
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount
from hansa.rooms import journal
from hansa.rooms.agents.rules import require_own
from hansa.rooms.agents.store import find_owner_and_roles

from . import rules, store
from .errors import ApprovalDecided, ApprovalUnknown
from .rules import Approval, Spending

__all__ = [
    "Approval",
    "approvals_of",
    "decide",
    "forget_approvals",
    "own_approvals",
    "request_approval",
]


async def request_approval(tx: Tx, did: str, spending: Spending, currency: str) -> Approval:
    """Ask the owner about a payment, with an event in the journal; while it is pending, the same payment is the same question.

    Raises: ApprovalsPending.
    """
    governed = await store.lock_policy(tx, did)
    assert governed is not None, "only a policy asks for approval"
    await store.expire_approvals_of(tx, governed.agent_id)
    known = await store.find_pending(tx, governed.agent_id, spending.payee, spending.amount)
    if known is not None:
        await store.keep_request(tx, known.id, spending.request_scope)
        return known
    rules.require_room(await store.count_pending(tx, governed.agent_id))
    asked = await store.insert_approval(tx, governed.agent_id, spending)
    requested = SpendApprovalRequested(
        did=did,
        approval_id=str(asked.id),
        receiver=asked.payee,
        amount=format_amount(asked.amount),
        currency=currency,
        expires_at=asked.expires_at.isoformat(),
    )
    await journal.append(tx, requested)
    return asked


async def own_approvals(
    tx: Tx, did: str, status: str | None, *, limit: int, offset: int
) -> tuple[Sequence[Approval], int]:
    """A page of the approvals of the agent that asks, newest first, and how many there are."""
    return await store.approvals(tx, did, status, limit=limit, offset=offset)


async def approvals_of(
    tx: Tx, developer: Developer, did: str, status: str | None, *, limit: int, offset: int
) -> tuple[Sequence[Approval], int]:
    """A page of the approvals of an own agent, newest first, and how many there are. Raises: AgentUnknown."""
    require_own(await find_owner_and_roles(tx, did), developer.id)
    return await store.approvals(tx, did, status, limit=limit, offset=offset)


async def decide(tx: Tx, developer: Developer, did: str, approval_id: UUID, *, is_approved: bool) -> Approval:
    """Approve or deny a pending payment of an own agent; of two decisions the first counts.

    Raises: AgentUnknown, ApprovalUnknown, ApprovalDecided.
    """
    require_own(await find_owner_and_roles(tx, did), developer.id)
    decided = await store.decide_approval(tx, did, approval_id, "approved" if is_approved else "denied")
    if decided is not None:
        return decided
    found = await store.find_approval(tx, did, approval_id)
    if found is None:
        raise ApprovalUnknown
    raise ApprovalDecided(f"The spend approval is {found.status}.", context={"status": found.status})


async def forget_approvals(tx: Tx) -> None:
    """Mark approvals that nobody decided on or used in time, and delete those long past."""
    await store.expire_approvals(tx)
    await store.delete_past(tx)
