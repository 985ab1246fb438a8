"""The policy an owner bounds an agent's payments with, and the payments that are judged by it."""

from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor

from . import rules, store
from .rules import Clearance, Spending, SpendPolicy


async def policy_of(tx: Tx, did: str) -> tuple[SpendPolicy | None, Minor | None]:
    """Return the policy of an agent and the amount it paid today (UTC), or twice None."""
    governed = await store.find_policy(tx, did)
    if governed is None:
        return None, None
    return governed.policy, await store.spent_today(tx, governed.agent_id)


async def put_policy(tx: Tx, did: str, policy: SpendPolicy | None) -> None:
    """Write the policy of an agent, or take it away; the amount paid today stays counted."""
    if policy is None:
        await store.delete_policy(tx, did)
    else:
        await store.write_policy(tx, did, policy)


async def clear_spending(tx: Tx, did: str, spending: Spending) -> tuple[Clearance, bool]:
    """Judge a payment and, when it may go ahead, count it and use up its approval; the second is whether it was counted.

    The policy stays locked until the transaction ends: payments of one governed agent follow each other.

    Raises: PayeeNotAllowed, OverPaymentLimit, OverDayLimit, ApprovalUnknown, ApprovalForAnother, ApprovalUnusable.
    """
    governed = await store.lock_policy(tx, did)
    if governed is None:
        return Clearance.CLEARED, False
    spent_today = await store.spent_today(tx, governed.agent_id)
    clearance = rules.evaluate(governed.policy, spending, spent_today)
    if clearance is Clearance.NEEDS_APPROVAL:
        approval = await _approval_shown(tx, governed.agent_id, spending)
        if approval is None:
            return clearance, False
        await store.use_approval(tx, approval.id)
    await store.count_spending(tx, governed.agent_id, spending.amount)
    return Clearance.CLEARED, True


async def return_spending(tx: Tx, did: str, counted_at: datetime, amount: Minor) -> None:
    """Take back the amount that `clear_spending` counted at this moment and is not paid; a policy that has ended does not matter."""
    await store.return_spending(tx, did, counted_at, amount)


async def _approval_shown(tx: Tx, agent_id: int, spending: Spending) -> rules.Approval | None:
    """The approval that this payment uses: the one it names, or the one that the same request asked for earlier.

    None when the owner has yet to decide, or was not asked. Raises: as `rules.require_approved`.
    """
    if spending.approval_id is not None:
        found = await store.lock_approval(tx, agent_id, spending.approval_id)
    elif spending.request_scope is not None:
        found = await store.lock_approval_of_request(tx, agent_id, spending)
        if found is None or found.status in {"pending", "expired"}:
            return None
    else:
        return None
    return rules.require_approved(found, spending)


async def preview_spending(tx: Tx, did: str, spending: Spending) -> Clearance:
    """Judge a payment as `clear_spending` does, without locks and without effect; an approval that is shown is taken for good.

    Raises: PayeeNotAllowed, OverPaymentLimit, OverDayLimit.
    """
    policy, spent_today = await policy_of(tx, did)
    if policy is None:
        return Clearance.CLEARED
    clearance = rules.evaluate(policy, spending, spent_today or ZERO)
    return clearance if spending.approval_id is None else Clearance.CLEARED
