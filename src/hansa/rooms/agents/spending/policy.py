"""The policy an owner bounds an agent's payments with, and the payments that it and the grant of a client judge."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.connections import GrantBounds
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.money import ZERO, Minor

from . import rules, store
from .rules import Clearance, Spending, SpendPolicy


async def policy_of(tx: Tx, did: str) -> tuple[SpendPolicy | None, Minor | None]:
    """Return the policy of an agent and the amount it paid today (UTC), or twice None."""
    governed = await store.find_policy(tx, did)
    if governed is None:
        return None, None
    return governed.policy, await store.spent_today(tx, governed.agent_id)


async def spent_under_grants(tx: Tx, grant_ids: Sequence[UUID]) -> dict[UUID, Minor]:
    """The amounts paid today (UTC) under those of the grants that paid."""
    return await store.spent_under_grants(tx, grant_ids)


async def put_policy(tx: Tx, did: str, policy: SpendPolicy | None) -> None:
    """Write the policy of an agent, or take it away; the amount paid today stays counted."""
    if policy is None:
        await store.delete_policy(tx, did)
    else:
        await store.write_policy(tx, did, policy)


async def clear_spending(tx: Tx, agent: Agent, spending: Spending) -> tuple[Clearance, bool]:
    """Judge a payment and, when it may go ahead, count it and use up its approval.

    The second value is true where the policy counted it; a grant counts each payment of its own. The policy, then the grant,
    stay locked until the transaction ends: payments of one governed agent, and of one grant, follow each other.

    Raises: PayeeNotAllowed, OverPaymentLimit, OverDayLimit, ApprovalUnknown, ApprovalForAnother, ApprovalUnusable, Unauthorized.
    """
    governed = None if spending.is_bound else await store.lock_policy(tx, agent.did)
    bounds = await _bounds(tx, agent, locked=True)
    clearance = rules.stricter(
        await _by_policy(tx, governed, spending), await _by_grant(tx, bounds, spending)
    )
    if clearance is Clearance.NEEDS_APPROVAL:
        approval = await _approval_shown(tx, agent.did, spending)
        if approval is None:
            return clearance, False
        await store.use_approval(tx, approval.id)
    if spending.grant_id is not None:
        await store.count_grant_spending(tx, spending.grant_id, spending.amount)
    if governed is not None:
        await store.count_spending(tx, governed.agent_id, spending.amount)
    return Clearance.CLEARED, governed is not None


async def return_spending(tx: Tx, did: str, counted_at: datetime, amount: Minor) -> None:
    """Take back the amount that `clear_spending` counted at this moment and is not paid; a policy that has ended does not matter."""
    await store.return_spending(tx, did, counted_at, amount)


async def return_grant_spending(tx: Tx, grant_id: UUID, counted_at: datetime, amount: Minor) -> None:
    """Take back the amount that a grant counted at this moment and is not paid; a grant that has ended does not matter."""
    await store.return_grant_spending(tx, grant_id, counted_at, amount)


async def preview_spending(tx: Tx, agent: Agent, spending: Spending) -> Clearance:
    """Judge a payment as `clear_spending` does, without locks and without effect; an approval that is shown is taken for good.

    Raises: PayeeNotAllowed, OverPaymentLimit, OverDayLimit, Unauthorized.
    """
    governed = None if spending.is_bound else await store.find_policy(tx, agent.did)
    bounds = await _bounds(tx, agent, locked=False)
    clearance = rules.stricter(
        await _by_policy(tx, governed, spending), await _by_grant(tx, bounds, spending)
    )
    return clearance if spending.approval_id is None else Clearance.CLEARED


async def _bounds(tx: Tx, agent: Agent, *, locked: bool) -> GrantBounds | None:
    """The limits of the grant. Raises: Unauthorized, for a grant that has ended or is for another agent."""
    if agent.grant is None:
        return None
    bounds = await agent.grant.read_bounds(tx, agent.grant.id, locked=locked)
    if (bounds.agent_did, bounds.developer_id) != (agent.did, agent.developer_id):
        raise Unauthorized
    return bounds


async def _by_policy(tx: Tx, governed: store.Governed | None, spending: Spending) -> Clearance:
    if governed is None:
        return Clearance.CLEARED
    spent_today = await store.spent_today(tx, governed.agent_id)
    return rules.evaluate(governed.policy, spending, spent_today)


async def _by_grant(tx: Tx, bounds: GrantBounds | None, spending: Spending) -> Clearance:
    if bounds is None or spending.grant_id is None:
        return Clearance.CLEARED
    spent = await store.spent_under_grants(tx, [spending.grant_id])
    return rules.evaluate_grant(bounds, spending, spent.get(spending.grant_id, ZERO))


async def _approval_shown(tx: Tx, did: str, spending: Spending) -> rules.Approval | None:
    """The approval that this payment uses: the one it names, or the one that the same request asked for earlier.

    None when the owner has yet to decide, or was not asked. Raises: as `rules.require_approved`.
    """
    if spending.approval_id is not None:
        found = await store.lock_approval(tx, did, spending.approval_id)
    elif spending.request_scope is not None:
        found = await store.lock_approval_of_request(tx, did, spending)
        if found is None or found.status in {"pending", "expired"}:
            return None
    else:
        return None
    return rules.require_approved(found, spending)
