"""May this agent pay that: its roles, the capability it shows, its owner's policy and the grant of a connected client.

All are judged in the payment's commit. A capability lends a permission and bounds the payment; it never pays with the money
of anybody but the agent itself. Locks: the tree of the capability, then the policy, then the grant, then whatever the
payment touches.
"""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, require_permission
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor

from .capabilities import (
    Chain,
    Use,
    evaluate,
    found_for_use,
    held_for_use,
    lent,
    return_spent,
    spend,
    within_ancestors,
    within_mode,
)
from .capabilities.errors import (
    CapabilityBudgetSpent,
    CapabilityEnded,
    CapabilityUnknown,
    CaveatViolated,
    DelegatorMayNot,
)
from .lineage import ancestors_of
from .spending import (
    Approval,
    Clearance,
    Spending,
    clear_spending,
    preview_spending,
    request_approval,
    return_grant_spending,
    return_spending,
)
from .spending.errors import ApprovalForAnother, OverDayLimit, OverPaymentLimit, PayeeNotAllowed

PAYMENT_REFUSALS: tuple[type[Refused], ...] = (
    CapabilityUnknown,
    CapabilityEnded,
    DelegatorMayNot,
    CaveatViolated,
    CapabilityBudgetSpent,
    PayeeNotAllowed,
    OverPaymentLimit,
    OverDayLimit,
    ApprovalForAnother,
)
"""Why a capability or a spend policy refuses a payment."""


@dataclass(frozen=True)
class Payment:
    """Payment that an agent asks to make; `amount` without the fee.

    `approval_id` and `capability_token` come with the request; `request_scope` is its SHA-256 under its Idempotency-Key.
    """

    payee: str
    amount: Minor
    currency: str
    permission: str
    operation: str
    approval_id: UUID | None = None
    capability_token: str | None = field(default=None, repr=False)
    request_scope: bytes | None = None
    is_bound: bool = False
    """The spend policy counted it when the agent bound itself to pay; a grant alone judges it now."""
    is_for_child: bool = False
    """The payee is a child that the payment makes: no list of payees bars it."""

    def spending_by(self, agent: Agent) -> Spending:
        """The payment as a spend policy and the agent's grant see it."""
        return Spending(
            self.payee,
            self.amount,
            agent.grant_id,
            agent.grant.client if agent.grant else None,
            self.approval_id,
            self.request_scope,
            operation=self.operation,
            is_bound=self.is_bound,
            is_for_child=self.is_for_child,
        )

    @property
    def use(self) -> Use:
        """The payment as a capability sees it."""
        return Use(self.amount, self.currency, self.permission, self.operation, self.payee)


def pays_plainly(agent: Agent, capability_token: str | None) -> bool:
    """Return whether nothing but the agent's roles has a say in its payment with this token, or without one."""
    return not agent.is_governed and capability_token is None


class HeldBudget(msgspec.Struct, frozen=True):
    """Budgets that count a payment to be made later; it is given back as far as nothing is paid."""

    is_counted: bool
    """Whether a spend policy counted it."""
    capability_id: UUID | None
    grant_id: UUID | None = None
    """The grant that counted it."""


async def clear_payment(tx: Tx, agent: Agent, payment: Payment, settings: Settings) -> Clearance:
    """Judge a payment and, when it may go ahead, count it against the capability and the policy.

    Raises: PermissionMissing, and the refusals of a capability or a spend policy.
    """
    held = await hold_budget(tx, agent, payment, settings)
    return Clearance.NEEDS_APPROVAL if held is None else Clearance.CLEARED


async def hold_budget(tx: Tx, agent: Agent, payment: Payment, settings: Settings) -> HeldBudget | None:
    """Judge and count a payment that is made later, as `clear_payment` does; None when the owner has to approve it.

    Raises: as `clear_payment`.
    """
    chain = None
    if payment.capability_token is not None and settings.agent_delegation_mode != "off":
        with within_mode(settings.agent_delegation_mode, agent.did):
            held = await held_for_use(tx, payment.capability_token, agent.did)
            await _judge(tx, agent, payment, held, settings)
            chain = held
    clearance, is_counted = await clear_spending(tx, agent, payment.spending_by(agent))
    if clearance is Clearance.NEEDS_APPROVAL:
        return None
    if chain is not None:
        await spend(tx, chain, payment.amount)
    return HeldBudget(is_counted, chain.leaf.id if chain else None, agent.grant_id)


async def return_budget(
    tx: Tx, did: str, held: HeldBudget, amount: Minor, *, held_at: datetime, is_unused: bool
) -> None:
    """Give back the counted amount that was not paid; `held_at` is the time of its count, `is_unused` whether nothing at all was paid.

    Locks: as a payment does.
    """
    if held.capability_id is not None:
        await return_spent(tx, held.capability_id, amount, is_unused=is_unused)
    if held.is_counted:
        await return_spending(tx, did, held_at, amount)
    if held.grant_id is not None:
        await return_grant_spending(tx, held.grant_id, held_at, amount)


async def ask_owner(tx: Tx, agent: Agent, payment: Payment) -> Approval:
    """Ask the agent's owner about a payment that needs the approval. Raises: ApprovalsPending, OverPaymentLimit."""
    return await request_approval(tx, agent.did, payment.spending_by(agent), payment.currency)


async def preview_payment(tx: Tx, agent: Agent, payment: Payment, settings: Settings) -> Clearance:
    """Judge a payment as `clear_payment` does, without locks and without effect."""
    if payment.capability_token is not None and settings.agent_delegation_mode == "enforce":
        chain = await found_for_use(tx, payment.capability_token, agent.did)
        await _judge(tx, agent, payment, chain, settings)
    return await preview_spending(tx, agent, payment.spending_by(agent))


async def _judge(tx: Tx, agent: Agent, payment: Payment, chain: Chain, settings: Settings) -> None:
    evaluate(chain, payment.use, roles_count=settings.agent_rbac_mode == "enforce")
    if settings.agent_delegation_mode == "enforce":
        # In the other modes the roles alone were asked, at the door.
        may_have = lent(chain, agent.owner)
        if payment.permission in may_have - agent.permissions:
            # A child has no permission, by roles or lent, that its parent lacks.
            may_have = within_ancestors(chain, may_have, await ancestors_of(tx, agent.did))
        require_permission(agent, payment.permission, settings.agent_rbac_mode, lent=may_have)
