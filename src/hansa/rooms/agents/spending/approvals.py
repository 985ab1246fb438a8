"""Payments over the limit of an agent: its owner approves or denies each of them."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.events import SpendApprovalRequested
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.rights import Right
from hansa.rooms import journal
from hansa.rooms.agents.rights import seen_with

from . import rules, store
from .errors import ApprovalDecided, ApprovalInBrowser, ApprovalUnknown
from .rules import Approval, Spending

__all__ = [
    "Approval",
    "approval_inbox",
    "approvals_of",
    "decide",
    "find_approval",
    "forget_approvals",
    "own_approval",
    "own_approvals",
    "request_approval",
    "usable_approvals",
]


async def request_approval(tx: Tx, did: str, spending: Spending, currency: str) -> Approval:
    """Ask the owner about a payment, with an event in the journal; while it is pending, the same payment is the same question.

    Under a grant the question is about one request: the same payment of another request is another question.

    Raises: ApprovalsPending, OverPaymentLimit.
    """
    rules.require_scope(spending)
    # Questions of one agent, or of one grant, follow each other: the judgement has locked its limits.
    governed = await store.lock_policy(tx, did)
    assert governed is not None or spending.grant_id is not None, "only a policy or a grant asks for approval"
    agent_id = await store.agent_id_of(tx, did) if governed is None else governed.agent_id
    await store.expire_approvals_of(tx, agent_id)
    known = await store.find_pending(tx, agent_id, spending)
    if known is not None:
        await store.keep_request(tx, known.id, spending.request_scope)
        return known
    pending = await store.count_pending(tx, agent_id, spending.grant_id)
    rules.require_room(pending, under_grant=spending.grant_id is not None)
    asked = await store.insert_approval(tx, agent_id, spending)
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


async def find_approval(tx: Tx, did: str, approval_id: UUID) -> Approval | None:
    """An approval of this agent as it stands, or None."""
    return await store.find_approval(tx, did, approval_id)


async def own_approvals(
    tx: Tx, did: str, status: str | None, *, limit: int, offset: int
) -> tuple[Sequence[Approval], int]:
    """A page of the approvals of the agent that asks, newest first, and how many there are."""
    return await store.approvals(tx, did, status, limit=limit, offset=offset)


async def usable_approvals(tx: Tx, did: str, limit: int) -> list[Approval]:
    """The approved payments that an agent has not made yet and may make itself, the one decided last first; none of a connected client."""
    return await store.usable_approvals(tx, did, limit)


async def approvals_of(
    tx: Tx, developer: Developer, did: str, status: str | None, *, limit: int, offset: int
) -> tuple[Sequence[Approval], int]:
    """A page of the approvals of an own agent, newest first, and how many there are. Raises: AgentUnknown."""
    await seen_with(tx, developer.id, did, Right.READ)
    return await store.approvals(tx, did, status, limit=limit, offset=offset)


async def approval_inbox(tx: Tx, developer: Developer, limit: int) -> tuple[list[tuple[str, Approval]], int]:
    """Approvals of all own agents, each with the DID, the pending ones first, and the number of pending ones."""
    return await store.inbox(tx, developer.id, limit), await store.count_inbox(tx, developer.id)


async def own_approval(tx: Tx, developer: Developer, approval_id: UUID) -> tuple[str, Approval]:
    """An approval of any own agent, with the DID. Raises: ApprovalUnknown."""
    found = await store.approval_of_owner(tx, developer.id, approval_id)
    if found is None:
        raise ApprovalUnknown
    return found


async def decide(
    tx: Tx,
    developer: Developer,
    did: str,
    approval_id: UUID,
    *,
    is_approved: bool,
    in_browser: bool = False,
) -> Approval:
    """Approve or deny a pending payment of an own agent; of two decisions the first counts.

    A payment under a grant is decided in the owner's browser session alone: an API key may be in the hands of the client.

    Raises: AgentUnknown, ApprovalUnknown, ApprovalDecided, ApprovalInBrowser.
    """
    await seen_with(tx, developer.id, did, Right.MANAGE)
    status = "approved" if is_approved else "denied"
    decided = await store.decide_approval(tx, did, approval_id, status, in_browser=in_browser)
    if decided is not None:
        return decided
    found = await store.find_approval(tx, did, approval_id)
    if found is None:
        raise ApprovalUnknown
    if found.grant_id is not None and not in_browser:
        raise ApprovalInBrowser
    raise ApprovalDecided(f"The spend approval is {found.status}.", context={"status": found.status})


async def forget_approvals(tx: Tx) -> None:
    """Mark approvals that nobody decided on or used in time, and delete those long past."""
    await store.expire_approvals(tx)
    await store.delete_past(tx)
